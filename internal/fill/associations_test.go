package fill_test

import (
	"reflect"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

type (

	// shelfTopic is the model of a join table that has a key of its own.
	shelfTopic struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		ShelfID types.ID
		TopicID types.ID
	}
)

// TestAssociations checks that a create of rows with all kinds of relations gives each
// related row its own key, and stores it under this key.
func TestAssociations(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.MigrateShelves(t, db)
		shelves := []plugintest.Shelf{plugintest.NewShelf("a"), plugintest.NewShelf("b")}
		plugintest.Must(t, db.Create(&shelves))
		plugintest.Distinct(t, append(shelves[0].IDs(t), shelves[1].IDs(t)...))
		for i := range shelves {
			stored := plugintest.LoadShelf(t, db, shelves[i].ID)
			plugintest.SameIDs(t, stored.IDs(t), shelves[i].IDs(t))
		}
	})
}

// TestSaveAssociations checks that Save of an existing row gives keys to its new related
// rows.
func TestSaveAssociations(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.MigrateShelves(t, db)
		s := plugintest.Shelf{Name: "a", Room: plugintest.Room{Name: "hall"}}
		plugintest.Must(t, db.Create(&s))
		s.Volumes = []plugintest.Volume{{Pages: []plugintest.Page{{}}}}
		s.Topics = []*plugintest.Topic{{Name: "x"}}
		plugintest.Must(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Save(&s))
		stored := plugintest.LoadShelf(t, db, s.ID)
		plugintest.SameIDs(t, stored.IDs(t), s.IDs(t))
	})
}

// TestAssociationMode checks that rows that Append and Replace add to a relation get keys.
func TestAssociationMode(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.MigrateShelves(t, db)
		s := plugintest.Shelf{Name: "a", Room: plugintest.Room{Name: "hall"}}
		plugintest.Must(t, db.Create(&s))
		for _, err := range []error{
			db.Model(&s).Association("Volumes").Append([]plugintest.Volume{{}, {}}),
			db.Model(&s).Association("Notes").Append(&plugintest.Note{}),
			db.Model(&s).Association("Lock").Append(&plugintest.Lock{}),
			db.Model(&s).Association("Topics").Append(&plugintest.Topic{Name: "x"}),
			db.Model(&s).Association("Topics").Replace(&plugintest.Topic{Name: "y"}, &plugintest.Topic{Name: "z"}),
			db.Model(&s).Association("Room").Replace(&plugintest.Room{Name: "kitchen"}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		plugintest.Distinct(t, s.IDs(t))
		stored := plugintest.LoadShelf(t, db, s.ID)
		plugintest.SameIDs(t, stored.IDs(t), s.IDs(t))
		if len(stored.Topics) != 2 || stored.Room.Name != "kitchen" {
			t.Errorf("stored = %+v", stored)
		}
	})
}

// TestJoinTableWithKey checks that the rows of a join table get keys, if its model has a
// tagged key and is registered by SetupJoinTable.
func TestJoinTableWithKey(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		type tagged struct {
			gormflake.Model
			Topics []*plugintest.Topic `gorm:"many2many:shelf_topics;foreignKey:ID;joinForeignKey:ShelfID;joinReferences:TopicID"`
		}
		if err := db.SetupJoinTable(&tagged{}, "Topics", &shelfTopic{}); err != nil {
			t.Fatal(err)
		}
		plugintest.Migrate(t, db, &plugintest.Topic{}, &tagged{}, &shelfTopic{})
		row := tagged{Topics: []*plugintest.Topic{{Name: "x"}, {Name: "y"}}}
		plugintest.Must(t, db.Create(&row))
		var joins []shelfTopic
		plugintest.Must(t, db.Find(&joins))
		if len(joins) != 2 || joins[0].ID <= 0 || joins[0].ID == joins[1].ID || joins[0].ShelfID != row.ID {
			t.Errorf("joins = %+v", joins)
		}
	})
}

// TestMadeUpJoinTableIsNotTagged checks that the plugin does not fill the columns of a
// join table that GORM generates. They are foreign keys, although GORM copies the tags of
// the joined keys to them.
func TestMadeUpJoinTableIsNotTagged(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{}
	db := plugintest.Dry(t, gormflake.New(gen))
	type left struct {
		ID     types.ID            `gorm:"primaryKey" snowflake:"pk"`
		Topics []*plugintest.Topic `gorm:"many2many:left_topics"`
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(&left{}); err != nil {
		t.Fatal(err)
	}
	join := stmt.Schema.Relationships.Relations["Topics"].JoinTable
	if _, tagged := join.Fields[0].Tag.Lookup("snowflake"); !tagged {
		t.Fatal("GORM no longer copies the tag: this test and its guard can go")
	}
	plugintest.Must(t, db.Create(reflect.New(join.ModelType).Interface()))
	if gen.Calls != 0 {
		t.Error("the join table was filled")
	}
}

// TestRepeatedPointer checks that a row to which several pointers lead gets one key and is
// stored once.
func TestRepeatedPointer(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.MigrateShelves(t, db)
		topic := &plugintest.Topic{Name: "shared"}
		shelves := []plugintest.Shelf{
			{Name: "a", Room: plugintest.Room{Name: "r"}, Topics: []*plugintest.Topic{topic, topic}},
			{Name: "b", Room: plugintest.Room{Name: "r"}, Topics: []*plugintest.Topic{topic}},
		}
		plugintest.Must(t, db.Create(&shelves))
		if n := plugintest.Count(t, db, &plugintest.Topic{}); n != 1 {
			t.Errorf("%d topics, want the shared one", n)
		}
		if stored := plugintest.LoadShelf(t, db, shelves[1].ID); len(stored.Topics) != 1 || stored.Topics[0].ID != topic.ID {
			t.Errorf("stored topics = %+v", stored.Topics)
		}
	})
}
