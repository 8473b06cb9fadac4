package fill_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

type namedNumber string

// numberKinds has a field of every type that can hold a serial number.
type numberKinds struct {
	ID       types.ID         `gorm:"primaryKey" snowflake:"pk"`
	Text     string           `gorm:"size:40" snowflake:"serial=PAY"`
	PtrText  *string          `gorm:"size:40" snowflake:"serial=PAY"`
	NullText sql.NullString   `gorm:"size:40" snowflake:"serial=PAY"`
	Null     sql.Null[string] `gorm:"size:40" snowflake:"serial=PAY"`
	Named    namedNumber      `gorm:"size:40" snowflake:"serial=PAY"`
	PtrNamed *namedNumber     `gorm:"size:40" snowflake:"serial=PAY"`
	Typed    string           `gorm:"type:varchar(40)" snowflake:"serial=PAY"`
	Renamed  string           `gorm:"column:other;size:40;<-:create" snowflake:"serial=PAY"`
}

// texts returns the serial numbers of the row, or nil if one is NULL.
func (k *numberKinds) texts() []string {
	if k.PtrText == nil || !k.NullText.Valid || !k.Null.Valid || k.PtrNamed == nil {
		return nil
	}
	return []string{k.Text, *k.PtrText, k.NullText.String, k.Null.V, string(k.Named), string(*k.PtrNamed), k.Typed, k.Renamed}
}

// TestSerialKinds checks that fields of each type that can hold a serial number get one.
func TestSerialKinds(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &numberKinds{})
		rows := make([]numberKinds, 3)
		empty, none := "", namedNumber("")
		rows[1].PtrText, rows[1].PtrNamed, rows[1].NullText.Valid = &empty, &none, true
		plugintest.Must(t, db.Create(&rows))
		for i := range rows {
			var stored numberKinds
			plugintest.Must(t, db.First(&stored, rows[i].ID))
			want := slices.Repeat([]string{plugintest.Numbers("PAY").Format(rows[i].ID)}, 8)
			if got := rows[i].texts(); !slices.Equal(got, want) {
				t.Errorf("struct has %q, want %q", got, want)
			}
			if got := stored.texts(); !slices.Equal(got, want) {
				t.Errorf("row has %q, want %q", got, want)
			}
		}
		if empty != "" || none != "" {
			t.Errorf("the caller's texts became %q and %q", empty, none)
		}
	})
}

// TestSerialKindsKeep checks that fields of each type keep a serial number that the
// caller has set.
func TestSerialKindsKeep(t *testing.T) {
	t.Parallel()
	gen := plugintest.NewLayoutCounter()
	text, named := "b", namedNumber("f")
	row := numberKinds{
		ID: 1, Text: "a", PtrText: &text, NullText: sql.NullString{String: "c", Valid: true}, Null: sql.Null[string]{V: "d", Valid: true},
		Named: "e", PtrNamed: &named, Typed: "g", Renamed: "h",
	}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(gen)).Create(&row))
	if got := strings.Join(row.texts(), ""); got != "abcdefgh" || gen.Calls != 0 {
		t.Errorf("numbers = %s, %d calls", got, gen.Calls)
	}
}

// TestSerialMapKinds checks that serial numbers of all kinds are strings in a map.
func TestSerialMapKinds(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &numberKinds{})
		m := map[string]any{}
		plugintest.Must(t, db.Model(&numberKinds{}).Create(m))
		var stored numberKinds
		plugintest.Must(t, db.First(&stored))
		if want := slices.Repeat([]string{plugintest.Numbers("PAY").Format(stored.ID)}, 8); !slices.Equal(stored.texts(), want) || len(m) != 9 || m["other"] != want[0] {
			t.Errorf("row = %q, map %v, want %s", stored.texts(), m, want[0])
		}
	})
}

// invoice has a serial number that updates do not change.
type invoice struct {
	ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
	Number string   `gorm:"size:28;uniqueIndex;<-:create" snowflake:"serial=INV"`
	Code   string   `gorm:"size:20;uniqueIndex"`
	Price  int
}

// TestSerialUpsert checks that an existing row keeps its serial number in an upsert, and that
// the struct gets this number.
func TestSerialUpsert(t *testing.T) {
	t.Parallel()
	all := clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}
	byKey := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, UpdateAll: true}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &invoice{})
		for _, test := range []struct {
			name     string
			conflict clause.OnConflict
			sameKey  bool
		}{{"columns", plugintest.ByCode("price"), false}, {"all", all, false}, {"key", byKey, true}} {
			t.Run(test.name, func(t *testing.T) {
				plugintest.Must(t, db.Where("1 = 1").Delete(&invoice{}))
				old := invoice{Code: "x", Price: 1, Number: "INV-OLD"}
				plugintest.Must(t, db.Create(&old))
				row := invoice{Code: "x", Price: 2}
				if test.sameKey {
					row.ID = old.ID
				}
				rows := []invoice{{Code: "new"}, row}
				plugintest.Must(t, db.Clauses(test.conflict).Create(&row))
				plugintest.Must(t, db.Clauses(test.conflict).Create(&rows))
				var stored invoice
				plugintest.Must(t, db.Where("code = ?", "x").First(&stored))
				if want := (invoice{ID: old.ID, Number: "INV-OLD", Code: "x", Price: 2}); stored != want || row != want || rows[1] != want {
					t.Errorf("row = %+v, structs %+v and %+v, want %+v", stored, row, rows[1], want)
				}
				if rows[0].Number != plugintest.Numbers("INV").Format(rows[0].ID) {
					t.Errorf("new row = %+v", rows[0])
				}
			})
		}
	})
}

// TestSerialIsNotUpdated checks that gorm:"<-:create" lets a row keep its serial number
// when Save updates it from a struct without one.
func TestSerialIsNotUpdated(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &invoice{})
		row := invoice{Code: "x"}
		plugintest.Must(t, db.Create(&row))
		plugintest.Must(t, db.Save(&invoice{ID: row.ID, Code: "x", Price: 5}))
		var stored invoice
		plugintest.Must(t, db.First(&stored))
		if stored.Number != row.Number || row.Number == "" || stored.Price != 5 {
			t.Errorf("row = %+v, want number %s", stored, row.Number)
		}
	})
}

// TestSerialSelectOmitSkip checks that a serial number is set although Select does not
// name its column, and is not set if the statement omits the column or the context is of
// Skip.
func TestSerialSelectOmitSkip(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Payment{})
		rows := []plugintest.Payment{{Title: "selected"}, {Title: "omitted"}}
		plugintest.Must(t, db.Select("Title").Create(&rows[0]))
		plugintest.Must(t, db.Omit("Number").Create(&rows[1]))
		asMap := map[string]any{"title": "map"}
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Omit("number").Create(asMap))
		if want := plugintest.Numbers("PAY").Format(rows[0].ID); rows[0].Number != want || rows[0].ID == 0 {
			t.Errorf("selected: %+v, want number %s", rows[0], want)
		}
		if _, ok := asMap["number"]; rows[1].Number != "" || rows[1].ID == 0 || ok {
			t.Errorf("omitted: %+v, %v", rows[1], asMap)
		}
		var stored []sql.NullString
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Order("title desc").Pluck("number", &stored))
		if len(stored) != 3 || stored[0].String != rows[0].Number || stored[1].Valid || stored[2].Valid {
			t.Errorf("rows = %v", stored)
		}
		skipped := plugintest.Payment{ID: 5, Number: "", Title: "skipped"}
		plugintest.Must(t, db.WithContext(gormflake.Skip(t.Context())).Create(&skipped))
		if skipped.Number != "" {
			t.Errorf("skipped: %+v", skipped)
		}
	})
}

// TestSerialOfOmittedKey checks that no serial number is made from a key that the
// statement omits. The number may belong to another row, from which the struct was
// copied.
func TestSerialOfOmittedKey(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		type bill struct {
			ID     int64  `gorm:"primaryKey" snowflake:"pk"`
			Number string `gorm:"size:28;uniqueIndex" snowflake:"serial=PAY"`
		}
		plugintest.Migrate(t, db, &bill{})
		row := bill{}
		plugintest.Must(t, db.Create(&row))
		if !plugintest.CanTell(db) { // GORM would leave the other row's key in the struct
			row.ID = 0
		}
		plugintest.Must(t, db.Omit("ID").Create(&bill{ID: row.ID}))
		plugintest.Must(t, db.Omit("ID").Create(&[]bill{{ID: row.ID}, {}}))
		plugintest.Must(t, db.Model(&bill{}).Omit("ID").Create(map[string]any{"id": row.ID}))
		if n := plugintest.Count(t, db, &bill{}); n != 5 {
			t.Errorf("%d rows, want 5", n)
		}
	})
}

// TestSerialByValue checks that a struct by value without a serial number is an error,
// because the plugin cannot set it.
func TestSerialByValue(t *testing.T) {
	t.Parallel()
	db := plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter()))
	err := db.Create(plugintest.Payment{ID: 5}).Error
	if want := "gormflake: model Payment: cannot set the tagged fields of a copy: pass a pointer"; !errors.Is(err, gorm.ErrInvalidValue) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
	plugintest.Must(t, db.Create(plugintest.Payment{ID: 5, Number: "x"}))
}

type (
	// deal has lines that refer to it by its number.
	deal struct {
		ID     types.ID   `gorm:"primaryKey" snowflake:"pk"`
		Number string     `gorm:"size:40;uniqueIndex" snowflake:"serial=DEAL"`
		Lines  []dealLine `gorm:"foreignKey:DealNumber;references:Number"`
		BookID types.ID
		Book   dealBook
	}
	dealLine struct {
		ID         types.ID `gorm:"primaryKey" snowflake:"pk"`
		DealNumber string   `gorm:"size:40"`
		Number     *string  `gorm:"size:40" snowflake:"serial=LINE"`
	}
	dealBook struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number string   `gorm:"size:40" snowflake:"serial=BOOK"`
	}
	// ticket has a serial number as its only key.
	ticket struct {
		Number string `gorm:"primaryKey;size:40" snowflake:"serial=T"`
		Stubs  []ticketStub
	}
	ticketStub struct {
		ID           types.ID `gorm:"primaryKey" snowflake:"pk"`
		TicketNumber string   `gorm:"size:40"`
	}
)

// TestSerialRelations checks that Assign and Create set the serial numbers of related
// rows, and that foreign keys can refer to them.
func TestSerialRelations(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &dealBook{}, &deal{}, &dealLine{}, &ticket{}, &ticketStub{})
		for _, assign := range []bool{false, true} {
			deals := []deal{{Lines: []dealLine{{}, {}}}, {Lines: []dealLine{{}}}}
			deals[0].Book.Number, deals[1].Book.Number = "set", "too"
			tickets := []ticket{{Stubs: []ticketStub{{}, {}}}, {Stubs: []ticketStub{{}}}}
			if assign {
				err := errors.Join(gormflake.Assign(db, &deals), gormflake.Assign(db, &tickets))
				if err != nil {
					t.Fatal(err)
				}
			}
			before := fmt.Sprint(deals[0].Number, deals[0].Lines[0].DealNumber, tickets[1].Number, tickets[1].Stubs[0].TicketNumber)
			plugintest.Must(t, db.Create(&deals))
			plugintest.Must(t, db.Create(&tickets))
			after := fmt.Sprint(deals[0].Number, deals[0].Lines[0].DealNumber, tickets[1].Number, tickets[1].Stubs[0].TicketNumber)
			if (before == after) != assign {
				t.Errorf("assigned %q, created %q", before, after)
			}
			for _, want := range deals {
				checkDeal(t, db, want)
			}
			for _, want := range tickets {
				var got ticket
				plugintest.Must(t, db.Preload("Stubs").First(&got, "number = ?", want.Number))
				if id, err := plugintest.Numbers("T").Parse(got.Number); id == 0 || err != nil || len(got.Stubs) != len(want.Stubs) || got.Stubs[0].TicketNumber != got.Number {
					t.Errorf("row = %+v, want %+v; %v", got, want, err)
				}
			}
		}
	})
}

// checkDeal compares a deal and its related rows with the structs, and checks that each
// serial number is made from the row's key.
func checkDeal(t *testing.T, db *gorm.DB, want deal) {
	t.Helper()
	var got deal
	plugintest.Must(t, db.Preload("Lines", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Preload("Book").First(&got, want.ID))
	if got.Number != plugintest.Numbers("DEAL").Format(got.ID) || got.Number != want.Number || len(got.Lines) != len(want.Lines) || got.Book != want.Book {
		t.Fatalf("row = %+v, want %+v", got, want)
	}
	for i, l := range got.Lines {
		if l.DealNumber != got.Number || l.Number == nil || *l.Number != plugintest.Numbers("LINE").Format(l.ID) || *want.Lines[i].Number != *l.Number {
			t.Errorf("line = %+v of %s, want %+v", l, got.Number, want.Lines[i])
		}
	}
}

// TestSerialSharedKey checks that Assign makes the serial numbers of a child from the key
// that the child gets from its parent, or from a new ID if that key is too large for the
// child's layout. Assign must ask the generator for this new ID in advance, because it calls
// the generator before it sets the key of the child.
func TestSerialSharedKey(t *testing.T) {
	t.Parallel()
	type (
		child struct {
			ParentID types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number   string   `snowflake:"serial=PAY"`
			Second   string   `snowflake:"serial=PAY"`
		}
		parent struct {
			ID    types.ID `gorm:"primaryKey" snowflake:"pk,gen=wide"`
			Child *child   `gorm:"foreignKey:ParentID"`
		}
	)
	// from is the ID from which the numbers are made, which is the key or a new ID. before is
	// the key of the child before Assign.
	for key, from := range map[types.ID]types.ID{5: 5, 1 << 60: 1001} {
		for _, before := range []types.ID{0, 6, 1 << 61} {
			gen, wide := &plugintest.LayoutCounter{IDLayout: snowflake.JSSafeLayout()}, plugintest.NewLayoutCounter()
			db := plugintest.Dry(t, gormflake.New(gen, gormflake.WithGenerator("wide", wide)))
			m := parent{ID: key, Child: &child{ParentID: before}}
			if err := gormflake.Assign(db, &m); err != nil {
				t.Fatalf("child of %d, before of %d: %v", key, before, err)
			}
			if want := plugintest.JSNumbers.Format(from); *m.Child != (child{key, want, want}) {
				t.Errorf("child = %+v, before of %d, want number %s", *m.Child, before, want)
			}
		}
	}
}

// TestSerialSparesNoID checks that Assign generates no additional ID for a serial number,
// neither for a row whose key no parent replaces (deal) nor for a row without serial numbers
// (badge).
func TestSerialSparesNoID(t *testing.T) {
	t.Parallel()
	type badge struct {
		BookID types.ID `gorm:"primaryKey" snowflake:"pk"`
		Book   dealBook
	}
	// The deal and its two lines and its book take one ID each. The badge takes one for its
	// key, which the book's key replaces.
	for want, tree := range map[int]any{4: &deal{Lines: make([]dealLine, 2), Book: dealBook{Number: "x"}}, 1: &badge{Book: dealBook{ID: 5}}} {
		gen := plugintest.NewLayoutCounter()
		if err := gormflake.Assign(plugintest.Dry(t, gormflake.New(gen)), tree); err != nil {
			t.Fatal(err)
		}
		if n := plugintest.Made(&gen.Counter, 1000); n != want {
			t.Errorf("%T: %d IDs were made, want %d", tree, n, want)
		}
	}
}

// TestSerialOrder checks that serial numbers sort as keys do in the default collation of
// each database, and that a range of serial numbers finds exactly the rows of a day.
func TestSerialOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	layout := snowflake.TwitterLayout()
	from, to := plugintest.Day("2026-11-20"), plugintest.Day("2026-11-21")
	rows := make([]plugintest.Payment, 500)
	for i := range rows {
		rows[i].ID = types.ID(r.Int64N(1 << 62))
		if i%2 == 0 { // half of the keys are of the day, or of the day after it
			rows[i].ID = layout.Min(from) + types.ID(r.Int64N(int64(2*(layout.Min(to)-layout.Min(from)))))
		}
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Payment{})
		made := slices.Clone(rows)
		plugintest.Must(t, db.Create(&made))
		var byKey, byNumber, dayByKey, dayByNumber []types.ID
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Order("id").Pluck("id", &byKey))
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Order("number").Pluck("id", &byNumber))
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Where("id >= ? AND id < ?", layout.Min(from), layout.Min(to)).Order("id").Pluck("id", &dayByKey))
		plugintest.Must(t, db.Model(&plugintest.Payment{}).Where("number >= ? AND number < ?", "PAY20261120", "PAY20261121").Order("number").Pluck("id", &dayByNumber))
		if !slices.Equal(byKey, byNumber) {
			t.Error("numbers do not sort as keys do")
		}
		if len(dayByKey) == 0 || !slices.Equal(dayByKey, dayByNumber) {
			t.Errorf("the day has %d keys, and %d by number", len(dayByKey), len(dayByNumber))
		}
	})
}

// TestSerialAtEveryFailure checks that a retry keeps the key and the number of a row that was
// rolled back. It lets each statement of a create fail in turn, until the create succeeds.
func TestSerialAtEveryFailure(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		gen := &plugintest.LayoutCounter{IDLayout: snowflake.TwitterLayout(), Counter: plugintest.Counter{Err: plugintest.ErrInjected}}
		plugintest.Use(t, db, gormflake.New(gen))
		plugintest.Migrate(t, db, &dealBook{}, &deal{}, &dealLine{})
		tree := deal{Book: dealBook{Number: "x"}, Lines: []dealLine{{}, {}}}
		if err := db.Create(&tree).Error; !errors.Is(err, plugintest.ErrInjected) || tree.Number != "" || plugintest.Count(t, db, &deal{}) != 0 {
			t.Fatalf("err = %v, tree %+v", err, tree)
		}
		gen.Err = nil
		var first deal // the tree as the first attempt has left it
		for n := 1; ; n++ {
			f := &plugintest.Faults{Fail: n}
			err := plugintest.WithFaults(t, db, f).Create(&tree).Error
			if f.Seen < n {
				if err != nil || n < 5 {
					t.Fatalf("%d statements, err = %v", n-1, err)
				}
				break
			}
			if !errors.Is(err, plugintest.ErrInjected) || plugintest.Count(t, db, &deal{})+plugintest.Count(t, db, &dealLine{})+plugintest.Count(t, db, &dealBook{}) != 0 {
				t.Fatalf("statement %d: err = %v", n, err)
			}
			if n == 1 {
				first = tree
			}
			if tree.ID == 0 || tree.ID != first.ID || tree.Number != first.Number {
				t.Errorf("statement %d: the retry changed the key and number from %d, %s to %d, %s", n, first.ID, first.Number, tree.ID, tree.Number)
			}
		}
		checkDeal(t, db, tree)
	})
}
