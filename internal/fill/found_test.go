package fill_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// A novel belongs to its author, has many genres by a join table, and has many drafts. The
// unique columns make an INSERT of an author, genre or draft find an existing row.
type (
	author struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string   `gorm:"size:20;unique"`
	}
	novel struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		AuthorID types.ID
		Author   author  `gorm:"constraint:-"`
		Genres   []genre `gorm:"many2many:novel_genres;constraint:-"`
		Drafts   []draft `gorm:"foreignKey:NovelID;constraint:-"`
		Parent   *types.ID
	}
	genre struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string   `gorm:"size:20;unique"`
	}
	draft struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		NovelID types.ID
		Title   string `gorm:"size:20;unique"`
	}
)

// TestExistingParentsAreLinked checks parents that GORM inserts by DO NOTHING for a
// belongs-to or many-to-many relation. If the table already has a row with the unique value
// of a parent, the child must refer to that row.
func TestExistingParentsAreLinked(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &author{}, &genre{}, &novel{}, &draft{})
		old, crime := author{Name: "old"}, genre{Name: "crime"}
		plugintest.Must(t, db.Create(&old))
		plugintest.Must(t, db.Create(&crime))
		one := novel{Author: author{Name: "old"}, Genres: []genre{{Name: "crime"}, {Name: "drama"}}}
		plugintest.Must(t, db.Create(&one))
		many := []novel{{Author: author{Name: "new"}}, {Author: author{Name: "old"}, Genres: []genre{{Name: "drama"}}}}
		plugintest.Must(t, db.Create(&many))
		if one.AuthorID != old.ID || many[1].AuthorID != old.ID || many[1].Author.ID != old.ID || one.Genres[0].ID != crime.ID {
			t.Errorf("novels = %+v and %+v, author %+v, genre %+v", one, many, old, crime)
		}
		var stored []novel
		plugintest.Must(t, db.Preload("Author").Preload("Genres").Order("id").Find(&stored))
		names := []string{}
		for _, n := range stored {
			names = append(names, n.Author.Name)
			for _, g := range n.Genres {
				names = append(names, g.Name)
			}
		}
		if got := strings.Join(names, " "); got != "old crime drama new old drama" && got != "old drama crime new old drama" {
			t.Errorf("authors and genres = %s", got)
		}
	})
}

// A shelf has boxes. otherShelf is another type with the fields of the model, which GORM takes
// as a row of the model, and whose boxes it saves.
type (
	shelf struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name  string   `gorm:"size:20;unique"`
		Boxes []box    `gorm:"constraint:-"`
	}
	box struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		ShelfID types.ID
	}
	otherShelf shelf
)

// TestExistingRowOfAnotherType checks that a row of another type than the model gets the key
// of the existing row if DO NOTHING leaves it out, and that its children get this key too.
func TestExistingRowOfAnotherType(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &shelf{}, &box{})
		old := shelf{Name: "x"}
		plugintest.Must(t, db.Create(&old))
		row := otherShelf{Name: "x", Boxes: []box{{}}}
		plugintest.Must(t, db.Model(&shelf{}).Clauses(clause.OnConflict{DoNothing: true}).Create(&row))
		var stored box
		plugintest.Must(t, db.First(&stored))
		if row.ID != old.ID || stored.ShelfID != old.ID {
			t.Errorf("the row has key %d, and its box is of shelf %d, want %d", row.ID, stored.ShelfID, old.ID)
		}
	})
}

// TestExistingRowByPrimaryKey checks an upsert by a primary key without a tag, here the code
// of a country. The existing row has another ID in its tagged column than the struct has
// got. The struct must get the ID of the row.
func TestExistingRowByPrimaryKey(t *testing.T) {
	t.Parallel()
	type country struct {
		Code string   `gorm:"primaryKey;size:2"`
		ID   types.ID `snowflake:"id"`
		Name string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &country{})
		old := country{Code: "ch", Name: "old"}
		plugintest.Must(t, db.Create(&old))
		byCode := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		for _, conflict := range []clause.OnConflict{byCode, {UpdateAll: true}} {
			row := country{Code: "ch", Name: "new"}
			plugintest.Must(t, db.Clauses(conflict).Create(&row))
			rows := []country{{Code: "ch", Name: "newer"}}
			plugintest.Must(t, db.Clauses(conflict).Create(&rows))
			if row.ID != old.ID || rows[0].ID != old.ID {
				t.Errorf("the structs have IDs %d and %d, want %d", row.ID, rows[0].ID, old.ID)
			}
		}
	})
}

// TestExistingRowOfCompositeKey checks an upsert by a key of two columns, of which only one has
// a tag. Another tenant has a row with the same value in that column, whose key the struct must
// not get. The tagged key of member is not its first tagged column.
func TestExistingRowOfCompositeKey(t *testing.T) {
	t.Parallel()
	type member struct {
		Public   types.ID `snowflake:"id"`
		TenantID types.ID `gorm:"primaryKey;autoIncrement:false"`
		ID       types.ID `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
		Name     string
	}
	type visit struct {
		TenantID types.ID `gorm:"primaryKey;autoIncrement:false"`
		ID       types.ID `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
		Name     string
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &member{}, &visit{})
		members := []member{{TenantID: 1, ID: 1}, {TenantID: 2, ID: 1}}
		plugintest.Must(t, db.Create(&members))
		plugintest.Must(t, db.Create(&[]visit{{TenantID: 1, ID: 1}, {TenantID: 2, ID: 1}}))
		for _, conflict := range []clause.OnConflict{{DoNothing: true}, {UpdateAll: true}} {
			for tenant := types.ID(1); tenant <= 2; tenant++ {
				row := visit{TenantID: tenant, ID: 1, Name: "new"}
				plugintest.Must(t, db.Clauses(conflict).Create(&row))
				rows := []visit{{TenantID: tenant, ID: 1, Name: "new"}}
				plugintest.Must(t, db.Clauses(conflict).Create(&rows))
				if row.TenantID != tenant || row.ID != 1 || rows[0] != row {
					t.Errorf("%+v: structs %+v and %+v, want the key of tenant %d", conflict, row, rows[0], tenant)
				}
			}
		}
		row := member{TenantID: 2, ID: 1, Name: "new"}
		plugintest.Must(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&row))
		if row.TenantID != 2 || row.ID != 1 || row.Public != members[1].Public {
			t.Errorf("struct %+v, row %+v", row, members[1])
		}
	})
}

// TestKnownParentIsNotReadAgain checks that a parent that the program has read before
// costs no more queries than a new parent.
func TestKnownParentIsNotReadAgain(t *testing.T) {
	t.Parallel()
	type owner struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string
	}
	type pet struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID types.ID
		Owner   owner `gorm:"constraint:-"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &owner{}, &pet{})
		fresh, known := &plugintest.Faults{}, &plugintest.Faults{}
		first := pet{Owner: owner{Name: "x"}}
		plugintest.Must(t, plugintest.WithFaults(t, db, fresh).Create(&first))
		second := pet{Owner: first.Owner}
		plugintest.Must(t, plugintest.WithFaults(t, db, known).Create(&second))
		if fresh.Seen != known.Seen || second.OwnerID != first.OwnerID {
			t.Errorf("%d statements with a known parent, %d with a new one; pets %+v and %+v", known.Seen, fresh.Seen, first, second)
		}
	})
}

// TestUnknownParentIsRefused checks a parent that DO NOTHING leaves out, because of a unique
// index that the model does not declare. The plugin cannot find the existing row, so the
// create must return an error. MySQL and MariaDB report the key of that row, so there the
// child must get the key.
func TestUnknownParentIsRefused(t *testing.T) {
	t.Parallel()
	type owner struct {
		ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
		Name string   `gorm:"size:20"`
	}
	type pet struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID types.ID
		Owner   owner `gorm:"constraint:-"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &owner{}, &pet{})
		plugintest.Must(t, db.Exec("CREATE UNIQUE INDEX owner_names ON owners (name)"))
		old := owner{Name: "x"}
		plugintest.Must(t, db.Create(&old))
		p := pet{Owner: owner{Name: "x"}}
		err := db.Create(&p).Error
		if db.Name() == "mysql" { // MySQL reports the key of the row
			if err != nil || p.OwnerID != old.ID {
				t.Errorf("pet = %+v, owner %+v, err = %v", p, old, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), "find the row by FirstOrCreate before the create") || plugintest.Count(t, db, &pet{}) != 0 {
			t.Errorf("pet = %+v, err = %v", p, err)
		}
	})
}

// TestExistingChildIsMoved checks a child by has-many whose unique value exists. MySQL
// and MariaDB give the row to the new parent, and the struct gets the row's key. Other
// databases reject the child.
func TestExistingChildIsMoved(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() != "mysql" {
			t.Skip("the database rejects the child")
		}
		plugintest.Migrate(t, db, &author{}, &genre{}, &novel{}, &draft{})
		old := novel{Drafts: []draft{{Title: "a"}, {Title: "b"}}}
		plugintest.Must(t, db.Create(&old))
		fresh := novel{Drafts: []draft{{Title: "c"}, {Title: "b"}}}
		plugintest.Must(t, db.Create(&fresh))
		var stored []draft
		plugintest.Must(t, db.Order("title").Find(&stored))
		if len(stored) != 3 || stored[1] != fresh.Drafts[1] || stored[1].ID != old.Drafts[1].ID || stored[1].NovelID != fresh.ID {
			t.Errorf("rows = %+v, structs %+v and %+v", stored, old.Drafts, fresh.Drafts)
		}
	})
}

// TestDefaultsOfParents checks that the structs of parents, which GORM inserts by DO NOTHING,
// get the defaults that the database chose. If the statement also returned the keys, GORM
// would skip the structs, because it skips each struct in which a returned column is set.
func TestDefaultsOfParents(t *testing.T) {
	t.Parallel()
	type shelf struct {
		ID    int64  `gorm:"primaryKey" snowflake:"pk"`
		Name  string `gorm:"size:20"`
		Since int64  `gorm:"default:(40 + 2)"`
	}
	type item struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		ShelfID int64
		Shelf   shelf `gorm:"constraint:-"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if !plugintest.CanTell(db) {
			t.Skip("the database returns no defaults")
		}
		plugintest.Migrate(t, db, &shelf{}, &item{})
		items := []item{{Shelf: shelf{Name: "a"}}, {Shelf: shelf{Name: "b"}}, {Shelf: shelf{Name: "c"}}}
		plugintest.Must(t, db.Create(&items))
		var stored []shelf
		plugintest.Must(t, db.Order("id").Find(&stored))
		for i, it := range items {
			if it.Shelf != stored[i] || it.ShelfID != stored[i].ID || stored[i].Since != 42 {
				t.Errorf("item %d = %+v, shelf %+v", i, it, stored[i])
			}
		}
	})
}

// TestMapsWithACounterKeepTheirKeys checks that maps keep their keys, although GORM
// assumes consecutive keys for a list of maps without RETURNING.
func TestMapsWithACounterKeepTheirKeys(t *testing.T) {
	t.Parallel()
	type counted struct {
		ID    int64  `gorm:"primaryKey" snowflake:"pk"`
		Title string `gorm:"size:20"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if plugintest.CanTell(db) {
			t.Skip("GORM cannot read returned rows into a list of maps")
		}
		plugintest.Migrate(t, db, &counted{})
		maps := []map[string]any{{"title": "a"}, {"title": "b"}, {"title": "c"}}
		plugintest.Must(t, db.Model(&counted{}).Create(maps))
		stored := plugintest.Stored(t, db, "counteds")
		for _, m := range maps {
			if id := plugintest.KeyOf(m["id"]); id == 0 || stored[m["title"].(string)] != id {
				t.Errorf("map = %v, rows %v", m, stored)
			}
		}
	})
}

// The foreign keys of a bone, an int32, and of a toy, a string, cannot hold the key of a
// kennel.
type (
	kennel struct {
		ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
		Bones []bone   `gorm:"foreignKey:KennelID;constraint:-"`
		Toys  []toy    `gorm:"polymorphic:Owner;constraint:-"`
	}
	bone struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		KennelID int32
	}
	toy struct {
		ID        types.ID `gorm:"primaryKey" snowflake:"pk"`
		OwnerID   string
		OwnerType string
	}
)

// TestForeignKeysThatLoseBits checks that a foreign key that cannot hold the key is an
// error in all ways in which GORM creates children, including updates of their parent.
func TestForeignKeysThatLoseBits(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &kennel{}, &bone{}, &toy{})
		k := kennel{}
		plugintest.Must(t, db.Create(&k))
		for name, err := range map[string]error{
			"append bones":  db.Model(&k).Association("Bones").Append(&bone{}),
			"append toys":   db.Model(&kennel{ID: k.ID}).Association("Toys").Append(&[]toy{{}}),
			"replace bones": db.Model(&kennel{ID: k.ID}).Association("Bones").Replace(&bone{}),
			"save":          db.Save(&kennel{ID: k.ID, Toys: []toy{{}}}).Error,
			"save slice":    db.Save(&[]kennel{{ID: k.ID, Bones: []bone{{}}}}).Error,
			"updates":       db.Updates(&kennel{ID: k.ID, Bones: []bone{{}}}).Error,
			"create":        db.Create(&kennel{Bones: []bone{{}}}).Error,
			"full save":     db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&kennel{ID: k.ID, Toys: []toy{{}}}).Error,
		} {
			if err == nil || !strings.HasPrefix(err.Error(), "gormflake: model ") {
				t.Errorf("%s: err = %v", name, err)
			}
		}
		if n := plugintest.Count(t, db, &bone{}) + plugintest.Count(t, db, &toy{}); n != 0 {
			t.Errorf("%d children were stored", n)
		}
		// A save that leaves out the children succeeds.
		plugintest.Must(t, db.Omit(clause.Associations).Save(&kennel{ID: k.ID, Bones: []bone{{}}}))
	})
}

// TestUpsertKeepsIDs checks that an upsert of all columns keeps the IDs and serial
// numbers of a row.
func TestUpsertKeepsIDs(t *testing.T) {
	t.Parallel()
	type invoice struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Public  types.ID `snowflake:"id"`
		Number  string   `gorm:"size:28" snowflake:"serial=PAY"`
		Code    string   `gorm:"size:20;unique"`
		Price   int
		Changed int64 `gorm:"autoUpdateTime:milli"`
		Made    int64 `gorm:"autoCreateTime"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &invoice{})
		old := invoice{Code: "x", Price: 1, Changed: 5, Made: 6}
		plugintest.Must(t, db.Create(&old))
		// The first upsert finds the row by its code, and the second by its key.
		for i, conflict := range []clause.OnConflict{
			{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true},
			{UpdateAll: true},
		} {
			price := i + 2
			row := invoice{Code: "x", Price: price}
			if len(conflict.Columns) == 0 {
				row.ID = old.ID
			}
			plugintest.Must(t, db.Clauses(conflict).Create(&row))
			var stored invoice
			plugintest.Must(t, db.First(&stored, old.ID))
			if stored.Public != old.Public || stored.Number != old.Number || stored.Price != price || stored.Made != 6 || stored.Changed == 5 {
				t.Errorf("row = %+v, first %+v", stored, old)
			}
			if row.ID != old.ID || row.Public != old.Public || row.Number != old.Number {
				t.Errorf("struct = %+v, first %+v", row, old)
			}
		}
	})
}
