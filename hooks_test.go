package gormflake_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/types"
)

// autoKeyBook has a key that GORM treats as auto-increment. The plugin supports it, but
// Check reports it, because it costs performance.
type autoKeyBook struct {
	ID    int64  `snowflake:"pk"`
	Title string `gorm:"size:50"`
}

// typedBook has a key of its own type.
type typedBook struct {
	ID    types.Of[typedBook] `gorm:"primaryKey" snowflake:"pk"`
	Title string              `gorm:"size:50"`
}

// A RowKind tells plugintest.RunPaths how to make rows of a model, and how to read their
// keys. The models have the key types types.ID, types.Of, int64, int64 with auto-increment,
// and string.
var (
	books = plugintest.RowKind{
		Model:    &plugintest.Book{},
		Table:    "books",
		Make:     func(title string, id types.ID) any { return &plugintest.Book{ID: id, Title: title} },
		Key:      func(row any) types.ID { return row.(*plugintest.Book).ID },
		Generics: plugintest.GenericPaths[plugintest.Book],
	}
	typedBooks = plugintest.RowKind{
		Model: &typedBook{},
		Table: "typed_books",
		Make:  func(title string, id types.ID) any { return &typedBook{ID: types.Of[typedBook](id), Title: title} },
		Key:   func(row any) types.ID { return types.ID(row.(*typedBook).ID) },
	}
	plainKeyBooks = plugintest.RowKind{
		Model: &plugintest.PlainKeyBook{},
		Table: "plain_key_books",
		Make: func(title string, id types.ID) any {
			return &plugintest.PlainKeyBook{ID: id.Int64(), Title: title}
		},
		Key: func(row any) types.ID { return types.ID(row.(*plugintest.PlainKeyBook).ID) },
	}
	autoKeyBooks = plugintest.RowKind{
		Model:    &autoKeyBook{},
		Table:    "auto_key_books",
		Make:     func(title string, id types.ID) any { return &autoKeyBook{ID: id.Int64(), Title: title} },
		Key:      func(row any) types.ID { return types.ID(row.(*autoKeyBook).ID) },
		Generics: plugintest.GenericPaths[autoKeyBook],
	}
	textKeyBooks = plugintest.RowKind{
		Model: &plugintest.TextKeyBook{},
		Table: "text_key_books",
		Make: func(title string, id types.ID) any {
			if id == 0 {
				return &plugintest.TextKeyBook{Title: title}
			}
			return &plugintest.TextKeyBook{ID: id.String(), Title: title}
		},
		Key: func(row any) types.ID { return plugintest.KeyOf(row.(*plugintest.TextKeyBook).ID) },
	}
)

// TestCreate checks the ways in which GORM creates rows, such as Create of a slice, Save and
// FirstOrCreate, for models with each type of key. After the create, the caller's struct or
// map must have the key that the database has stored. The plugin must keep a key that the
// caller set.
func TestCreate(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		t.Run("ID", func(t *testing.T) { plugintest.RunPaths(t, db, books, books.Paths()) })
		t.Run("typed ID", func(t *testing.T) { plugintest.RunPaths(t, db, typedBooks, typedBooks.Paths()) })
		t.Run("int64", func(t *testing.T) { plugintest.RunPaths(t, db, plainKeyBooks, plainKeyBooks.Paths()) })
		t.Run("string", func(t *testing.T) { plugintest.RunPaths(t, db, textKeyBooks, textKeyBooks.Paths()) })
		t.Run("serial number", func(t *testing.T) { plugintest.RunPaths(t, db, plugintest.Payments, plugintest.Payments.Paths()) })
		t.Run("serial number as key", func(t *testing.T) { plugintest.RunPaths(t, db, plugintest.Receipts, plugintest.Receipts.Paths()) })
		// GORM itself handles slices of maps wrongly if the key is auto-increment.
		t.Run("auto-increment", func(t *testing.T) {
			plugintest.RunPaths(t, db, autoKeyBooks, append(autoKeyBooks.StructPaths(), autoKeyBooks.FinisherPaths()...))
		})
	})
}

// TestCreateRejected checks that a statement without rows, or with values that GORM
// rejects, returns GORM's error and does not panic.
func TestCreateRejected(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		for _, test := range []struct {
			name  string
			value any
			want  error
		}{
			{"struct by value", plugintest.Book{Title: "a"}, gorm.ErrInvalidValue},
			{"array by value", [1]plugintest.Book{{Title: "a"}}, gorm.ErrInvalidValue},
			{"auto-increment by value", autoKeyBook{Title: "a"}, gorm.ErrInvalidValue},
			{"nil pointer", (*plugintest.Book)(nil), gorm.ErrInvalidValue},
			{"nil element", []*plugintest.Book{nil}, gorm.ErrInvalidData},
			{"nil element before another", []*plugintest.Book{nil, {Title: "a"}}, gorm.ErrInvalidData},
			{"empty slice", []plugintest.Book{}, gorm.ErrEmptySlice},
		} {
			t.Run(test.name, func(t *testing.T) {
				if err := db.Create(test.value).Error; !errors.Is(err, test.want) {
					t.Errorf("err = %v, want %v", err, test.want)
				}
			})
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}); n != 0 {
			t.Errorf("%d rows written", n)
		}
	})
}

// TestCreateOfOtherType checks a create with Model(&Book{}) and rows of another type. GORM
// writes such rows by the positions of their fields in Book. The plugin accepts a type that
// has the fields of Book at the same positions, and rejects all other types. Otherwise the
// row would have no key, or GORM would panic. The plugin also rejects a slice of interfaces,
// and of pointers to pointers.
func TestCreateOfOtherType(t *testing.T) {
	t.Parallel()
	type (
		same  plugintest.Book // has the fields of Book at the same positions, so it is accepted
		other struct{ Title string }
	)
	one, row := &same{Title: "b"}, &plugintest.Book{Title: "c"} // for pointers to pointers, and an interface
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		db = db.Model(&plugintest.Book{}).Session(&gorm.Session{})
		plugintest.Must(t, db.Create(&same{Title: "a"}))
		plugintest.Must(t, db.Create([]*same{{Title: "b"}, {Title: "c"}}))
		rows := plugintest.Stored(t, db, "books")
		if len(rows) != 3 || rows["a"] == 0 || rows["b"] == 0 || rows["c"] == 0 {
			t.Errorf("rows = %v", rows)
		}
		for _, value := range []any{&other{}, &[]other{{}}, []*other{{}}, []any{row}, []**same{&one}, []**plugintest.Book{&row}} {
			err := db.Create(value).Error
			want := ": want plugintest.Book, or a slice of it or of pointers to it: unsupported data"
			if !errors.Is(err, gorm.ErrInvalidData) || !strings.HasPrefix(err.Error(), "gormflake: model Book: got ") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%T: err = %v, want …%s", value, err, want)
			}
		}
		if n := plugintest.Count(t, db, &plugintest.Book{}); n != 3 {
			t.Errorf("%d rows written", n-3)
		}
	})
}

// TestStructByValueWithKey checks that a struct by value, in which the plugin cannot set a
// key, can be created if it has a key.
func TestStructByValueWithKey(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &plugintest.Book{})
		plugintest.Must(t, db.Create(plugintest.Book{ID: 5, Title: "a"}))
		if rows := plugintest.Stored(t, db, "books"); rows["a"] != 5 {
			t.Errorf("rows = %v", rows)
		}
	})
}

// TestOneFillPerStatement checks that a create of 100 rows, one of which has a key, calls
// the generator once for 99 IDs. A second create of the same rows, which all have keys then,
// must not call the generator.
func TestOneFillPerStatement(t *testing.T) {
	t.Parallel()
	gen := &plugintest.Counter{} // issues 1001, 1002 and so on
	db := plugintest.Dry(t, gormflake.New(gen))
	rows := make([]plugintest.Book, 100)
	rows[7].ID = plugintest.Preset
	plugintest.Must(t, db.Create(&rows))
	if gen.Calls != 1 || gen.Last != 1099 || rows[7].ID != plugintest.Preset || rows[99].ID != 1099 {
		t.Errorf("calls = %d, last = %d, want one call for 99 IDs", gen.Calls, gen.Last)
	}
	plugintest.Must(t, db.Create(&rows))
	if gen.Calls != 1 {
		t.Errorf("%d calls for rows that have keys", gen.Calls-1)
	}
}

// TestDryRun checks that a dry run consumes IDs and leaves them in the struct, as GORM
// does with timestamps.
func TestDryRun(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		row := plugintest.Book{Title: "a"}
		sql := db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&row) })
		if row.ID == 0 || !strings.Contains(sql, row.ID.String()) {
			t.Errorf("key = %d, sql = %s", row.ID, sql)
		}
	})
}

// TestCallerCancels checks that the context of the statement reaches the generator, so
// that a caller can end a create that waits for IDs.
func TestCallerCancels(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(plugintest.ErrInjected)
	db := plugintest.Dry(t, gormflake.New(waiting{}))
	if err := db.WithContext(ctx).Create(&plugintest.Book{}).Error; !errors.Is(err, plugintest.ErrInjected) {
		t.Errorf("err = %v, want the cause", err)
	}
}

// waiting is a generator that waits until its context ends.
type waiting struct{}

func (waiting) Fill(ctx context.Context, _ []types.ID) error {
	<-ctx.Done()
	return context.Cause(ctx)
}
