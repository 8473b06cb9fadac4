package fill_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// TestSerialMistakes checks the errors for wrong tags of serial numbers, which Create,
// Assign and Check return without calling the generator.
func TestSerialMistakes(t *testing.T) {
	t.Parallel()
	type key = types.ID // short, because each model needs a key
	for _, test := range []struct {
		name  string
		model any
		want  string
	}{
		{"no code", &struct {
			ID     key
			Number string `snowflake:"serial="`
		}{}, `tag snowflake:"serial=": serial= names no code: want serial=CODE`},
		{"nothing", &struct {
			ID     key
			Number string `snowflake:"serial"`
		}{}, `tag snowflake:"serial": unknown word "serial": want pk for a primary key, id for any other column, serial=CODE for a serial number`},
		{"blank", &struct {
			ID     key
			Number string `snowflake:" serial=PAY"`
		}{}, `tag snowflake:" serial=PAY": unknown word " serial=PAY": want pk for a primary key, id for any other column, serial=CODE for a serial number`},
		{"second", &struct {
			ID     key
			Number string `snowflake:"id,serial=PAY"`
		}{}, `tag snowflake:"id,serial=PAY": unknown word "serial=PAY": want gen=name`},
		{"code", &struct {
			ID     key
			Number string `snowflake:"serial=pay"`
		}{}, `tag snowflake:"serial=pay": serial: code "pay" contains 'p': want 1 to 32 of A-Z and 0-9`},
		{"number", &struct {
			ID     key
			Number int64 `snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": type int64 cannot hold a serial number: use string`},
		{"ID", &struct {
			ID     key
			Number *types.ID `snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": type *types.ID cannot hold a serial number: use string`},
		{"bytes", &struct {
			ID     key
			Number []byte `snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": type []uint8 cannot hold a serial number: use string`},
		{"size", &struct {
			ID     key
			Number string `gorm:"size:27" snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": the column has 27 characters, a serial number of PAY has 28: raise gorm:"size"`},
		{"type", &struct {
			ID     key
			Number string `gorm:"type:VARCHAR (27) NOT NULL" snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": the column has 27 characters, a serial number of PAY has 28: raise gorm:"type"`},
		{"type and size", &struct {
			ID     key
			Number string `gorm:"type:character varying(27);size:99" snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": the column has 27 characters, a serial number of PAY has 28: raise gorm:"type"`},
		{"generator", &struct {
			ID     key
			Number string `snowflake:"serial=PAY,gen=none"`
		}{}, `tag snowflake:"serial=PAY,gen=none": generator "none" is unknown: add gormflake.WithGenerator("none", …) to gormflake.New`},
		{"generator without layout", &struct {
			ID     key
			Number string `snowflake:"serial=PAY,gen=bare"`
		}{}, `tag snowflake:"serial=PAY,gen=bare": generator "bare" is a *plugintest.Counter, whose layout is unknown: use a *snowflake.Generator, or give it a method Layout() snowflake.Layout`},
		{"read-only", &struct {
			ID     key
			Number string `gorm:"->" snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": GORM may not write the column on create: remove gorm:"->" or allow it by gorm:"<-:create"`},
		{"serializer", &struct {
			ID     key
			Number string `gorm:"serializer:json" snowflake:"serial=PAY"`
		}{}, `tag snowflake:"serial=PAY": the field has a serializer, which would store the value in its own form: remove the serializer`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gen := plugintest.NewLayoutCounter()
			db := plugintest.Dry(t, gormflake.New(gen, gormflake.WithGenerator("bare", &plugintest.Counter{}))).Table("rows")
			want := "gormflake: model , field Number, " + test.want
			for name, err := range map[string]error{
				"Create": db.Create(test.model).Error,
				"Assign": gormflake.Assign(db, test.model),
				"Check":  gormflake.Check(db, test.model),
			} {
				if err == nil || err.Error() != want {
					t.Errorf("%s: err = %v\nwant  %s", name, err, want)
				}
			}
			if gen.Calls != 0 {
				t.Error("the generator was asked")
			}
		})
	}
}

// TestSerialSizes checks that columns are accepted that are wide enough, or have no
// declared width.
func TestSerialSizes(t *testing.T) {
	t.Parallel()
	type sizes struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Exact   string   `gorm:"size:28" snowflake:"serial=PAY"`
		Default string   `snowflake:"serial=PAY"`
		Text    string   `gorm:"type:text;size:5" snowflake:"serial=PAY"`
		Typed   string   `gorm:"type:varchar(28)" snowflake:"serial=PAY"`
		Generic string   `gorm:"type:string;size:28" snowflake:"serial=PAY"`
	}
	row := sizes{}
	plugintest.Must(t, plugintest.Dry(t, gormflake.New(plugintest.NewLayoutCounter())).Create(&row))
	if row.Text == "" || row.Generic != row.Exact {
		t.Errorf("row = %+v", row)
	}
}

// TestSerialGeneratorBreaksContract checks the error for a generator whose IDs do not fit
// its Layout.
func TestSerialGeneratorBreaksContract(t *testing.T) {
	t.Parallel()
	// The third of the next IDs is the first that the layout cannot hold.
	gen := &plugintest.LayoutCounter{Counter: plugintest.Counter{Last: 1<<53 - 3}, IDLayout: snowflake.JSSafeLayout()}
	db := plugintest.Dry(t, gormflake.New(gen))
	want := "generator: ID 2 of 3 is 9007199254740992: want at most 9007199254740991, the last of its layout"
	rows := make([]plugintest.Payment, 3)
	if err := db.Create(&rows).Error; err == nil || err.Error() != "gormflake: model Payment: "+want {
		t.Errorf("err = %v", err)
	}
	gen.Last -= 3
	maps := make([]map[string]any, 3)
	for i := range maps {
		maps[i] = map[string]any{"title": "a"}
	}
	if err := db.Model(&plugintest.Payment{}).Create(&maps).Error; err == nil || err.Error() != "gormflake: model Payment: "+want {
		t.Errorf("err = %v", err)
	}
	gen.Last -= 3
	if err := gormflake.Assign(db, &rows); err == nil || err.Error() != "gormflake: Assign: model Payment: "+want {
		t.Errorf("err = %v", err)
	}
	if rows[0] != (plugintest.Payment{}) || len(maps[0]) != 1 {
		t.Errorf("rows = %v, maps = %v", rows, maps)
	}
}

// TestCheckSerials checks that Check accepts models with serial numbers, before and after
// their tables exist.
func TestCheckSerials(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		models := []any{&plugintest.Payment{}, &plugintest.Receipt{}, &numberKinds{}, &invoice{}, &dealBook{}, &deal{}, &dealLine{}, &ticket{}, &ticketStub{}}
		if err := gormflake.Check(db, models...); err != nil {
			t.Error(err)
		}
		plugintest.Migrate(t, db, models...)
		if err := gormflake.Check(db, models...); err != nil {
			t.Error(err)
		}
	})
}

// TestSerialDefault checks that a serial number, unlike a key, may have a default, for
// rows of other programs.
func TestSerialDefault(t *testing.T) {
	t.Parallel()
	type bill struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number string   `gorm:"size:40;default:none" snowflake:"serial=PAY"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &bill{})
		if err := gormflake.Check(db, &bill{}); err != nil {
			t.Error(err)
		}
		rows := []bill{{}, {Number: "x"}}
		plugintest.Must(t, db.Create(&rows))
		plugintest.Must(t, db.Omit("Number").Create(&bill{ID: 1}))
		var stored []string
		plugintest.Must(t, db.Model(&bill{}).Order("id desc").Pluck("number", &stored))
		if want := []string{"x", plugintest.Numbers("PAY").Format(rows[0].ID), "none"}; !slices.Equal(stored, want) {
			t.Errorf("numbers = %q, want %q", stored, want)
		}
	})
}

// TestCheckSerialReferences checks that foreign keys must be wide enough for the serial
// numbers to which they refer.
func TestCheckSerialReferences(t *testing.T) {
	t.Parallel()
	type (
		bill struct {
			ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
			Number string   `gorm:"size:40" snowflake:"serial=PAY"`
		}
		line struct {
			ID         types.ID `gorm:"primaryKey" snowflake:"pk"`
			Narrow     string   `gorm:"size:27"`
			NarrowBill *bill    `gorm:"foreignKey:Narrow;references:Number"`
			Count      int64
			CountBill  *bill  `gorm:"foreignKey:Count;references:Number"`
			Exact      string `gorm:"size:28"`
			ExactBill  *bill  `gorm:"foreignKey:Exact;references:Number"`
			Free       string
			FreeBill   *bill `gorm:"foreignKey:Free;references:Number"`
			BillID     types.ID
			Bill       bill
		}
	)
	err := gormflake.Check(plugintest.Memory(t, gormflake.New(plugintest.NewLayoutCounter())), &line{})
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got)
	want := []string{
		"gormflake: model line, field Count, foreign key to bill: type int64 cannot hold a serial number: use string",
		"gormflake: model line, field Narrow, foreign key to bill: the column has 27 characters, a serial number of PAY has 28: raise gorm:\"size\"",
	}
	if !slices.Equal(got, want) {
		t.Errorf("err = %v\nwant  %s", err, strings.Join(want, "\n"))
	}
}

// TestCheckSerialTable checks that Check rejects columns of a table that cannot hold a
// serial number.
func TestCheckSerialTable(t *testing.T) {
	t.Parallel()
	type bill struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number string   `gorm:"size:40" snowflake:"serial=PAY"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		// The columns with an empty want are accepted.
		for column, want := range map[string]string{
			"number varchar(27)":                       "(27), which cannot hold every serial number: make it varchar(28)",
			"number bigint":                            "which cannot hold every serial number: make it varchar(28)",
			"number decimal(30,0)":                     "which cannot hold every serial number: make it varchar(28)",
			"name varchar(40)":                         "table bills has no column number: migrate it",
			"number char(27)":                          "(27), which cannot hold every serial number: make it varchar(28)",
			"number char(28)":                          "",
			"number varchar(28)":                       "",
			"number text":                              "",
			"number varchar(40) NOT NULL DEFAULT ''":   "",
			"number varchar(40) NOT NULL DEFAULT 'x!'": "",
		} {
			if db.Name() == "sqlite" && !strings.HasPrefix(column, "name") {
				want = "" // columns of this database hold any text
			}
			plugintest.Must(t, db.Exec("DROP TABLE IF EXISTS bills"))
			plugintest.Must(t, db.Exec("CREATE TABLE bills (id bigint PRIMARY KEY, "+column+")"))
			switch err := gormflake.Check(db, &bill{}); {
			case want == "" && err != nil:
				t.Errorf("%s: %v", column, err)
			case want != "":
				plugintest.Wants(t, err, []string{"gormflake: model bill, field Number: ", want})
			}
		}
	})
}

// TestCheckSerialReferenceTable checks that the columns of foreign keys must have the
// width of serial numbers, and not of IDs.
func TestCheckSerialReferenceTable(t *testing.T) {
	t.Parallel()
	type charge struct {
		ID       types.ID `gorm:"primaryKey" snowflake:"pk"`
		BillCode string   `gorm:"size:40"`
	}
	type bill struct {
		ID      types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number  string   `gorm:"size:40;uniqueIndex" snowflake:"serial=PAY"`
		Charges []charge `gorm:"foreignKey:BillCode;references:Number"`
	}
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		if db.Name() == "sqlite" {
			t.Skip("its columns hold anything")
		}
		plugintest.Must(t, db.Exec("CREATE TABLE bills (id bigint PRIMARY KEY, number varchar(28))"))
		// The column with an empty want is accepted.
		for column, want := range map[string]string{
			"varchar(27)": "(27), which cannot hold every serial number: make it varchar(28)",
			"bigint":      "which cannot hold every serial number: make it varchar(28)",
			"varchar(28)": "",
		} {
			plugintest.Must(t, db.Exec("DROP TABLE IF EXISTS charges"))
			plugintest.Must(t, db.Exec("CREATE TABLE charges (id bigint PRIMARY KEY, bill_code "+column+")"))
			switch err := gormflake.Check(db, &bill{}); {
			case want == "" && err != nil:
				t.Errorf("%s: %v", column, err)
			case want != "":
				plugintest.Wants(t, err, []string{"gormflake: model charge, field BillCode: column bill_code of table charges is ", want})
			}
		}
	})
}

// TestCheckPaddedColumns checks that Check rejects a column of fixed width exactly if it
// pads values, so that the row differs from the struct.
func TestCheckPaddedColumns(t *testing.T) {
	t.Parallel()
	type bill struct {
		ID     types.ID `gorm:"primaryKey" snowflake:"pk"`
		Number string   `gorm:"size:40" snowflake:"serial=PAY"`
		Public string   `gorm:"size:40" snowflake:"id"`
	}
	const padded = ", which pads shorter values, so that the row differs from the struct: make it "
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		for i, test := range []struct {
			dialect, number, public string
			want                    []string
		}{
			{"sqlite", "char(40)", "char(40)", nil},
			{"mysql", "char(40)", "char(40)", nil},
			{"mysql", "binary(28)", "varbinary(19)", nil},
			{"mysql", "binary(40)", "varbinary(40)", []string{"field Number: column number of table bills is binary(40)" + padded + "varchar(28) or text"}},
			{"mysql", "varbinary(40)", "binary(19)", []string{"field Public: column public of table bills is binary(19)" + padded + "varchar(19) or text"}},
			{"postgres", "char(28)", "bpchar", nil},
			{"postgres", "char(29)", "text", []string{"field Number: column number of table bills is character(29)" + padded + "varchar(28) or text"}},
			{"postgres", "text", "char(19)", []string{"field Public: column public of table bills is character(19)" + padded + "varchar(19) or text"}},
			{"postgres", "bpchar", "nchar(40)", []string{"field Public: column public of table bills is character(40)" + padded + "varchar(19) or text"}},
		} {
			if db.Name() != test.dialect {
				continue
			}
			t.Run(test.number+" "+test.public, func(t *testing.T) {
				plugintest.Must(t, db.Exec("DROP TABLE IF EXISTS bills"))
				plugintest.Must(t, db.Exec("CREATE TABLE bills (id bigint PRIMARY KEY, number "+test.number+", public "+test.public+")"))
				row := bill{Public: "1234567890123456"}
				plugintest.Must(t, db.Create(&row))
				var stored bill
				plugintest.Must(t, db.Where(fmt.Sprint("id > ", i)).First(&stored)) // another SQL text, because the database caches the plan of a text
				if same := stored == row; same != (test.want == nil) {
					t.Errorf("row = %q, struct %q", stored, row)
				}
				err := gormflake.Check(db, &bill{})
				if test.want != nil {
					plugintest.Wants(t, err, test.want)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// FuzzSerialTag checks that a tag of a string column is accepted exactly if it is id or
// has a valid code, with at most one known generator.
func FuzzSerialTag(f *testing.F) {
	for _, seed := range []string{"serial=PAY", "serial=", "serial", "serial=pay", "serial=P,gen=orders", "serial=P,gen=", "id", "serial=P,serial=Q", "gen=orders"} {
		f.Add(seed)
	}
	good := regexp.MustCompile(`^(id|serial=[A-Z0-9]{1,32})(,gen=orders)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		tag := reflect.StructTag(`snowflake:` + strconv.Quote(text))
		if got, ok := tag.Lookup("snowflake"); !ok || got != text {
			t.Skip("the text does not survive in a struct tag")
		}
		model := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "ID", Type: reflect.TypeFor[types.ID]()},
			{Name: "Number", Type: reflect.TypeFor[string](), Tag: tag},
		}))
		model.Elem().Field(0).SetInt(1)
		plugin := gormflake.New(plugintest.NewLayoutCounter(), gormflake.WithGenerator("orders", plugintest.NewLayoutCounter()))
		err := plugintest.Dry(t, plugin).Table("rows").Create(model.Interface()).Error
		if want := good.MatchString(text); (err == nil) != want || want == (model.Elem().Field(1).Len() == 0) {
			t.Errorf("tag %q: err = %v, want accepted = %t, number %q", text, err, want, model.Elem().Field(1))
		}
	})
}
