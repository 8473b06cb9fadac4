package check_test

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// slowText lets a test stop GORM while it parses a model.
type slowText string

// parsingStops blocks until the test lets GORM go on. GORM calls it, by GormDataType,
// when it parses a slowText.
var parsingStops func()

func (slowText) GormDataType() string {
	parsingStops()
	return "string"
}

// TestCheckWaitsForModels checks that Check waits for a model that another goroutine is still
// parsing. Until then, the model lacks its relations. Check would miss the mistakes in these
// relations, and cache the model without them.
func TestCheckWaitsForModels(t *testing.T) {
	t.Parallel()
	type (
		leaf struct {
			ID      types.ID `snowflake:"pk"`
			TrunkID string
			Text    slowText
		}
		trunk struct {
			ID   types.ID `snowflake:"pk"`
			Leaf *leaf
		}
		root struct {
			ID      types.ID `snowflake:"pk"`
			TrunkID types.ID
			Trunk   *trunk
		}
	)
	db := plugintest.Memory(t, plugintest.NewPlugin(t))
	check := func(model any) <-chan error {
		done := make(chan error, 1)
		go func() { done <- gormflake.Check(db, model) }()
		return done
	}
	reached, goOn := make(chan struct{}), make(chan struct{}) // GORM parses leaf; GORM may go on
	tell := sync.OnceFunc(func() { close(reached) })
	parsingStops = func() { tell(); <-goOn }
	ofTrunk := check(&trunk{})
	<-reached
	ofRoot := check(&root{})
	time.Sleep(20 * time.Millisecond) // until the second Check waits for trunk
	close(goOn)
	if err := <-ofRoot; err != nil {
		t.Error(err)
	}
	plugintest.Wants(t, <-ofTrunk, []string{"model leaf, field TrunkID", "one character of a string"})
}

// These models refer to each other by all kinds of relations, so that GORM parses all of
// them when a program uses one of them for the first time.
type (
	hub struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		BaseID types.ID
		Base   *hubBase   `gorm:"foreignKey:BaseID"`
		Spokes []hubSpoke `gorm:"foreignKey:HubID"`
		Labels []hubLabel `gorm:"many2many:labels_of_hubs"`
	}
	hubBase struct {
		ID     types.ID   `gorm:"primaryKey" snowflake:"pk"`
		Hubs   []hub      `gorm:"foreignKey:BaseID"`
		Labels []hubLabel `gorm:"polymorphic:Owner"`
	}
	hubSpoke struct {
		ID          types.ID `gorm:"primaryKey" snowflake:"pk"`
		HubID       types.ID
		Hub         *hub      `gorm:"foreignKey:HubID"`
		Number      string    `gorm:"size:40" snowflake:"serial=SPOKE"`
		LabelNumber string    `gorm:"size:40"`
		Label       *hubLabel `gorm:"foreignKey:LabelNumber;references:Number"`
	}
	hubLabel struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   types.ID
		OwnerType string
		Number    string     `gorm:"size:40" snowflake:"serial=LABEL"`
		Hubs      []hub      `gorm:"many2many:labels_of_hubs"`
		Spokes    []hubSpoke `gorm:"foreignKey:LabelNumber;references:Number"`
	}
)

// TestFirstUsesInParallel checks that goroutines may use related models for the first
// time concurrently, while GORM still adds relations to their schemas. The race detector
// finds an access without a lock.
func TestFirstUsesInParallel(t *testing.T) {
	t.Parallel()
	models := []any{&hub{}, &hubBase{}, &hubSpoke{}, &hubLabel{}}
	for i := range 30 {
		db := plugintest.Memory(t, plugintest.NewPlugin(t))
		db.DryRun = true
		var done sync.WaitGroup
		for n := range 8 {
			done.Go(func() {
				// The goroutines use different models, in three different ways.
				row := reflect.New(reflect.TypeOf(models[(n+i)%4]).Elem()).Interface()
				use := []func() error{
					func() error { return gormflake.Check(db, row) },
					func() error { return gormflake.Assign(db, row) },
					func() error { return db.Create(row).Error },
				}
				if err := use[n%3](); err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
	}
}
