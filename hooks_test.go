package gormflake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/types"
)

type book struct {
	ID    types.ID `gorm:"primaryKey" snowflake:"pk"`
	Title string   `gorm:"size:50"`
}

type plainKeyBook struct {
	ID    int64  `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// autoKeyBook has a key that GORM takes for auto-increment. That is wasteful,
// and Check says so, but it works.
type autoKeyBook struct {
	ID    int64  `snowflake:"pk"`
	Title string `gorm:"size:50"`
}

type textKeyBook struct {
	ID    string `gorm:"primaryKey;size:20" snowflake:"pk"`
	Title string `gorm:"size:50"`
}

var (
	books = rowKind[book]{
		name: "books",
		make: func(title string, id types.ID) book { return book{ID: id, Title: title} },
		key:  func(b *book) types.ID { return b.ID },
	}
	plainKeyBooks = rowKind[plainKeyBook]{
		name: "plain_key_books",
		make: func(title string, id types.ID) plainKeyBook { return plainKeyBook{ID: id.Int64(), Title: title} },
		key:  func(b *plainKeyBook) types.ID { return types.ID(b.ID) },
	}
	autoKeyBooks = rowKind[autoKeyBook]{
		name: "auto_key_books",
		make: func(title string, id types.ID) autoKeyBook { return autoKeyBook{ID: id.Int64(), Title: title} },
		key:  func(b *autoKeyBook) types.ID { return types.ID(b.ID) },
	}
	textKeyBooks = rowKind[textKeyBook]{
		name: "text_key_books",
		make: func(title string, id types.ID) textKeyBook {
			if id == 0 {
				return textKeyBook{Title: title}
			}
			return textKeyBook{ID: id.String(), Title: title}
		},
		key: func(b *textKeyBook) types.ID { return keyOf(b.ID) },
	}
)

// Whatever way GORM creates a row, the row has the key that the caller sees,
// and a key of the caller's own is kept.
func TestCreate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *gorm.DB) {
		t.Run("ID", func(t *testing.T) { testPaths(t, db, books, books.paths()) })
		t.Run("int64", func(t *testing.T) { testPaths(t, db, plainKeyBooks, plainKeyBooks.paths()) })
		t.Run("string", func(t *testing.T) { testPaths(t, db, textKeyBooks, textKeyBooks.paths()) })
		t.Run("serial number", func(t *testing.T) { testPaths(t, db, payments, payments.paths()) })
		t.Run("serial number as key", func(t *testing.T) { testPaths(t, db, receipts, receipts.paths()) })
		// GORM itself gets slices of maps wrong where it sees auto-increment.
		t.Run("auto-increment", func(t *testing.T) {
			testPaths(t, db, autoKeyBooks, append(autoKeyBooks.structPaths(), autoKeyBooks.finisherPaths()...))
		})
	})
}

func testPaths[T any](t *testing.T, db *gorm.DB, kind rowKind[T], paths []path[T]) {
	t.Helper()
	migrate(t, db, new(T))
	for _, path := range paths {
		t.Run(path.name, func(t *testing.T) {
			must(t, db.Where("1 = 1").Delete(new(T)))
			seen, err := path.run(db)
			if err != nil {
				t.Fatal(err)
			}
			rows := stored(t, db, kind.name)
			if len(rows) != len(seen) {
				t.Fatalf("rows = %v, caller sees %v", rows, seen)
			}
			for title, id := range seen {
				if rows[title] != id || id != preset && id < 1<<40 {
					t.Errorf("%s: row has key %d, caller sees %d", title, rows[title], id)
				}
			}
			if kind.stored != nil {
				kind.stored(t, db)
			}
		})
	}
}

// stored reads the keys of a table by title.
func stored(t *testing.T, db *gorm.DB, table string) map[string]types.ID {
	t.Helper()
	var rows []struct {
		ID    types.ID
		Title string
	}
	must(t, db.Session(&gorm.Session{NewDB: true}).Table(table).Select("id", "title").Scan(&rows))
	ids := make(map[string]types.ID, len(rows))
	for _, row := range rows {
		ids[row.Title] = row.ID
	}
	if len(ids) != len(rows) {
		t.Fatalf("rows share titles: %v", rows)
	}
	return ids
}

// A statement without rows to fill, or with values that GORM refuses, ends as
// it does without the plugin: in an error, not in a panic of ours.
func TestCreateRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *gorm.DB) {
		migrate(t, db, &book{})
		for _, test := range []struct {
			name  string
			value any
			want  error
		}{
			{"struct by value", book{Title: "a"}, gorm.ErrInvalidValue},
			{"array by value", [1]book{{Title: "a"}}, gorm.ErrInvalidValue},
			{"auto-increment by value", autoKeyBook{Title: "a"}, gorm.ErrInvalidValue},
			{"nil pointer", (*book)(nil), gorm.ErrInvalidValue},
			{"nil element", []*book{nil}, gorm.ErrInvalidData},
			{"nil element before another", []*book{nil, {Title: "a"}}, gorm.ErrInvalidData},
			{"empty slice", []book{}, gorm.ErrEmptySlice},
		} {
			t.Run(test.name, func(t *testing.T) {
				if err := db.Create(test.value).Error; !errors.Is(err, test.want) {
					t.Errorf("err = %v, want %v", err, test.want)
				}
			})
		}
		if n := count(t, db, &book{}); n != 0 {
			t.Errorf("%d rows written", n)
		}
	})
}

// GORM writes a value of another type by the places of its fields: without a
// key, if the plugin did not fill it, or it panics.
func TestCreateOfOtherType(t *testing.T) {
	t.Parallel()
	type (
		same  book
		other struct{ Title string }
	)
	one, row := &same{Title: "b"}, &book{Title: "c"}
	each(t, func(t *testing.T, db *gorm.DB) {
		migrate(t, db, &book{})
		db = db.Model(&book{}).Session(&gorm.Session{})
		must(t, db.Create(&same{Title: "a"}))
		must(t, db.Create([]*same{{Title: "b"}, {Title: "c"}}))
		rows := stored(t, db, "books")
		if len(rows) != 3 || rows["a"] == 0 || rows["b"] == 0 || rows["c"] == 0 {
			t.Errorf("rows = %v", rows)
		}
		for _, value := range []any{&other{}, &[]other{{}}, []*other{{}}, []any{row}, []**same{&one}, []**book{&row}} {
			err := db.Create(value).Error
			want := ": want gormflake_test.book, or a slice of it or of pointers to it: unsupported data"
			if !errors.Is(err, gorm.ErrInvalidData) || !strings.HasPrefix(err.Error(), "gormflake: model book: got ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%T: err = %v, want …%s", value, err, want)
			}
		}
		if n := count(t, db, &book{}); n != 3 {
			t.Errorf("%d rows written", n-3)
		}
	})
}

func TestStructByValueWithKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *gorm.DB) {
		migrate(t, db, &book{})
		must(t, db.Create(book{ID: 5, Title: "a"}))
		if rows := stored(t, db, "books"); rows["a"] != 5 {
			t.Errorf("rows = %v", rows)
		}
	})
}

func TestOneFillPerStatement(t *testing.T) {
	t.Parallel()
	gen := &counter{}
	db := dry(t, gormflake.New(gen))
	rows := make([]book, 100)
	rows[7].ID = preset
	must(t, db.Create(&rows))
	if gen.calls != 1 || gen.last != 1099 || rows[7].ID != preset || rows[99].ID != 1099 {
		t.Errorf("calls = %d, last = %d, want one call for 99 IDs", gen.calls, gen.last)
	}
	must(t, db.Create(&rows))
	if gen.calls != 1 {
		t.Errorf("%d calls for rows that have keys", gen.calls-1)
	}
}

// A dry run uses up IDs and leaves them in the struct, as GORM does with
// timestamps.
func TestDryRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *gorm.DB) {
		row := book{Title: "a"}
		sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&row) })
		if row.ID == 0 || !strings.Contains(sql, row.ID.String()) {
			t.Errorf("key = %d, sql = %s", row.ID, sql)
		}
	})
}

func TestCallerCancels(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInjected)
	db := dry(t, gormflake.New(waiting{}))
	if err := db.WithContext(ctx).Create(&book{}).Error; !errors.Is(err, errInjected) {
		t.Errorf("err = %v, want the cause", err)
	}
}

// waiting makes nothing until its context ends.
type waiting struct{}

func (waiting) Fill(ctx context.Context, _ []types.ID) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
