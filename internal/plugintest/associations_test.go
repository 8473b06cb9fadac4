package plugintest

import (
	"reflect"
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type (
	shelf struct {
		gormflake.Model
		Name    string
		RoomID  types.ID
		Room    room
		Volumes []volume
		Lock    *lock
		Notes   []note   `gorm:"polymorphic:Owner"`
		Topics  []*topic `gorm:"many2many:shelf_topics"`
		UpperID *types.ID
		Upper   *shelf
		Lower   []shelf `gorm:"foreignKey:UpperID"`
		Deleted gorm.DeletedAt
	}
	room struct {
		gormflake.Model
		Name string
	}
	volume struct {
		gormflake.Model
		ShelfID types.ID
		Pages   []page
	}
	page struct {
		gormflake.Model
		VolumeID types.ID
	}
	lock struct {
		gormflake.Model
		ShelfID types.ID
	}
	note struct {
		gormflake.Model
		OwnerID   types.ID
		OwnerType string
	}
	topic struct {
		gormflake.Model
		Name string
	}
	// shelfTopic is a join table with a separate key.
	shelfTopic struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		ShelfID types.ID
		TopicID types.ID
	}
)

func migrateShelves(t *testing.T, db *gorm.DB) {
	t.Helper()
	Migrate(t, db, &room{}, &topic{}, &shelf{}, &volume{}, &page{}, &lock{}, &note{})
}

func newShelf(name string) shelf {
	return shelf{
		Name:    name,
		Room:    room{Name: name},
		Volumes: []volume{{Pages: []page{{}, {}}}, {Pages: []page{{}}}},
		Lock:    &lock{},
		Notes:   []note{{}, {}},
		Topics:  []*topic{{Name: name + "1"}, {Name: name + "2"}},
		Upper:   &shelf{Name: name + " upper", Room: room{Name: "attic"}},
		Lower:   []shelf{{Name: name + " lower", Room: room{Name: "cellar"}, Volumes: []volume{{}}}},
	}
}

// ids lists every key of the tree and fails if a link does not match.
func (s *shelf) ids(t *testing.T) []types.ID {
	t.Helper()
	ids := []types.ID{s.ID, s.Room.ID}
	link := func(name string, key, owner types.ID) {
		if key != owner {
			t.Errorf("%s: foreign key %d, want %d", name, key, owner)
		}
	}
	link("room", s.RoomID, s.Room.ID)
	for _, v := range s.Volumes {
		link("volume", v.ShelfID, s.ID)
		ids = append(ids, v.ID)
		for _, p := range v.Pages {
			link("page", p.VolumeID, v.ID)
			ids = append(ids, p.ID)
		}
	}
	if s.Lock != nil {
		link("lock", s.Lock.ShelfID, s.ID)
		ids = append(ids, s.Lock.ID)
	}
	for _, n := range s.Notes {
		link("note", n.OwnerID, s.ID)
		ids = append(ids, n.ID)
	}
	for _, topic := range s.Topics {
		ids = append(ids, topic.ID)
	}
	if s.Upper != nil {
		link("upper", *s.UpperID, s.Upper.ID)
		ids = append(ids, s.Upper.ids(t)...)
	}
	for i := range s.Lower {
		link("lower", *s.Lower[i].UpperID, s.ID)
		ids = append(ids, s.Lower[i].ids(t)...)
	}
	return ids
}

func distinct(t *testing.T, ids []types.ID) {
	t.Helper()
	slices.Sort(ids)
	if ids[0] <= 0 || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("keys are zero or repeat: %v", ids)
	}
}

func loadShelf(t *testing.T, db *gorm.DB, id types.ID) shelf {
	t.Helper()
	var s shelf
	Must(t, db.Preload("Room").Preload("Volumes.Pages").Preload("Lock").Preload("Notes").Preload("Topics").
		Preload("Upper.Room").Preload("Lower.Room").Preload("Lower.Volumes").First(&s, id))
	return s
}

func sameIDs(t *testing.T, got, want []types.ID) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("rows have keys\n%v, structs\n%v", got, want)
	}
}

func TestAssociations(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		migrateShelves(t, db)
		shelves := []shelf{newShelf("a"), newShelf("b")}
		Must(t, db.Create(&shelves))
		distinct(t, append(shelves[0].ids(t), shelves[1].ids(t)...))
		for i := range shelves {
			stored := loadShelf(t, db, shelves[i].ID)
			sameIDs(t, stored.ids(t), shelves[i].ids(t))
		}
	})
}

func TestSaveAssociations(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		migrateShelves(t, db)
		s := shelf{Name: "a", Room: room{Name: "hall"}}
		Must(t, db.Create(&s))
		s.Volumes = []volume{{Pages: []page{{}}}}
		s.Topics = []*topic{{Name: "x"}}
		Must(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Save(&s))
		stored := loadShelf(t, db, s.ID)
		sameIDs(t, stored.ids(t), s.ids(t))
	})
}

func TestAssociationMode(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		migrateShelves(t, db)
		s := shelf{Name: "a", Room: room{Name: "hall"}}
		Must(t, db.Create(&s))
		for _, err := range []error{
			db.Model(&s).Association("Volumes").Append([]volume{{}, {}}),
			db.Model(&s).Association("Notes").Append(&note{}),
			db.Model(&s).Association("Lock").Append(&lock{}),
			db.Model(&s).Association("Topics").Append(&topic{Name: "x"}),
			db.Model(&s).Association("Topics").Replace(&topic{Name: "y"}, &topic{Name: "z"}),
			db.Model(&s).Association("Room").Replace(&room{Name: "kitchen"}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		distinct(t, s.ids(t))
		stored := loadShelf(t, db, s.ID)
		sameIDs(t, stored.ids(t), s.ids(t))
		if len(stored.Topics) != 2 || stored.Room.Name != "kitchen" {
			t.Errorf("stored = %+v", stored)
		}
	})
}

func TestJoinTableWithKey(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		type tagged struct {
			gormflake.Model
			Topics []*topic `gorm:"many2many:shelf_topics;foreignKey:ID;joinForeignKey:ShelfID;joinReferences:TopicID"`
		}
		if err := db.SetupJoinTable(&tagged{}, "Topics", &shelfTopic{}); err != nil {
			t.Fatal(err)
		}
		Migrate(t, db, &topic{}, &tagged{}, &shelfTopic{})
		row := tagged{Topics: []*topic{{Name: "x"}, {Name: "y"}}}
		Must(t, db.Create(&row))
		var joins []shelfTopic
		Must(t, db.Find(&joins))
		if len(joins) != 2 || joins[0].ID <= 0 || joins[0].ID == joins[1].ID || joins[0].ShelfID != row.ID {
			t.Errorf("joins = %+v", joins)
		}
	})
}

// GORM copies the tags of the joined keys into the join tables that it generates.
// Those columns are foreign keys and must not be filled.
func TestMadeUpJoinTableIsNotTagged(t *testing.T) {
	t.Parallel()
	gen := &Counter{}
	db := Dry(t, gormflake.New(gen))
	type left struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Topics []*topic `gorm:"many2many:left_topics"`
	}
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(&left{}); err != nil {
		t.Fatal(err)
	}
	join := stmt.Schema.Relationships.Relations["Topics"].JoinTable
	if _, tagged := join.Fields[0].Tag.Lookup("snowflake"); !tagged {
		t.Fatal("GORM no longer copies the tag: this test and its guard can go")
	}
	Must(t, db.Create(reflect.New(join.ModelType).Interface()))
	if gen.Calls != 0 {
		t.Error("the join table was filled")
	}
}

func TestRepeatedPointer(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, db *gorm.DB) {
		migrateShelves(t, db)
		hall := &topic{Name: "shared"}
		shelves := []shelf{
			{Name: "a", Room: room{Name: "r"}, Topics: []*topic{hall, hall}},
			{Name: "b", Room: room{Name: "r"}, Topics: []*topic{hall}},
		}
		Must(t, db.Create(&shelves))
		if n := Count(t, db, &topic{}); n != 1 {
			t.Errorf("%d topics, want the shared one", n)
		}
		if stored := loadShelf(t, db, shelves[1].ID); len(stored.Topics) != 1 || stored.Topics[0].ID != hall.ID {
			t.Errorf("stored topics = %+v", stored.Topics)
		}
	})
}
