package plugintest

import (
	"slices"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

// Shelf has a relation of every kind, two of them to itself.
type Shelf struct {
	gormflake.Model
	Name    string
	RoomID  types.ID
	Room    Room
	Volumes []Volume
	Lock    *Lock
	Notes   []Note   `gorm:"polymorphic:Owner"`
	Topics  []*Topic `gorm:"many2many:shelf_topics"`
	UpperID *types.ID
	Upper   *Shelf
	Lower   []Shelf `gorm:"foreignKey:UpperID"`
	Deleted gorm.DeletedAt
}

// Room has shelves. A [Shelf] belongs to it.
type Room struct {
	gormflake.Model
	Name string
}

// Volume belongs to a [Shelf], which has many.
type Volume struct {
	gormflake.Model
	ShelfID types.ID
	Pages   []Page
}

// Page belongs to a [Volume], two levels below the shelf.
type Page struct {
	gormflake.Model
	VolumeID types.ID
}

// Lock belongs to a [Shelf], which has one.
type Lock struct {
	gormflake.Model
	ShelfID types.ID
}

// Note belongs to a [Shelf] by a polymorphic relation.
type Note struct {
	gormflake.Model
	OwnerID   types.ID
	OwnerType string
}

// Topic is related to shelves by a many-to-many relation.
type Topic struct {
	gormflake.Model
	Name string
}

// MigrateShelves creates the tables of shelves and of their related models.
func MigrateShelves(t *testing.T, db *gorm.DB) {
	t.Helper()
	Migrate(t, db, &Room{}, &Topic{}, &Shelf{}, &Volume{}, &Page{}, &Lock{}, &Note{})
}

// NewShelf returns a tree of shelves without keys.
func NewShelf(name string) Shelf {
	return Shelf{
		Name:    name,
		Room:    Room{Name: name},
		Volumes: []Volume{{Pages: []Page{{}, {}}}, {Pages: []Page{{}}}},
		Lock:    &Lock{},
		Notes:   []Note{{}, {}},
		Topics:  []*Topic{{Name: name + "1"}, {Name: name + "2"}},
		Upper:   &Shelf{Name: name + " upper", Room: Room{Name: "attic"}},
		Lower:   []Shelf{{Name: name + " lower", Room: Room{Name: "cellar"}, Volumes: []Volume{{}}}},
	}
}

// IDs returns every key of the tree, and fails the test if a foreign key differs from its
// key.
func (s *Shelf) IDs(t *testing.T) []types.ID {
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
		ids = append(ids, s.Upper.IDs(t)...)
	}
	for i := range s.Lower {
		link("lower", *s.Lower[i].UpperID, s.ID)
		ids = append(ids, s.Lower[i].IDs(t)...)
	}
	return ids
}

// Distinct fails the test if a key is zero or repeats.
func Distinct(t *testing.T, ids []types.ID) {
	t.Helper()
	slices.Sort(ids)
	if ids[0] <= 0 || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("keys are zero or repeat: %v", ids)
	}
}

// LoadShelf reads a shelf with its relations.
func LoadShelf(t *testing.T, db *gorm.DB, id types.ID) Shelf {
	t.Helper()
	var s Shelf
	Must(t, db.Preload("Room").Preload("Volumes.Pages").Preload("Lock").Preload("Notes").Preload("Topics").
		Preload("Upper.Room").Preload("Lower.Room").Preload("Lower.Volumes").First(&s, id))
	return s
}

// SameIDs fails the test unless got, the keys of the rows, equals want, the keys of the
// structs. It ignores the order of the keys.
func SameIDs(t *testing.T, got, want []types.ID) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("rows have keys\n%v, structs\n%v", got, want)
	}
}
