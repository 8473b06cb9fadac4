package copyrows_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// copyField is a field that a random model may have.
type copyField struct {
	of         any // a zero value of its type
	tag        string
	byDatabase bool // the database sets the default
}

type (
	copyName  string
	copyLevel int16
	copyPart  struct {
		Street string
		House  int32  `gorm:"default:7"`
		Since  int64  `gorm:"autoCreateTime:milli"`
		Hidden string `gorm:"->"`
	}
	copyDetail struct {
		Words  []string
		Amount float64
	}
	copyPoint struct{ X, Y int32 }  // a Valuer
	copyMoney struct{ Cents int32 } // a Valuer of text for a column of numbers
	copyUpper struct{ Text string } // writes one parameter of SQL
)

func (p copyPoint) Value() (driver.Value, error) { return fmt.Sprintf("%d,%d", p.X, p.Y), nil }

func (p *copyPoint) Scan(any) error { return nil }

func (copyPoint) GormDataType() string { return "text" }

func (m copyMoney) Value() (driver.Value, error) {
	return fmt.Sprintf("%d.%02d", m.Cents/100, max(m.Cents%100, 0)), nil
}

func (m *copyMoney) Scan(any) error { return nil }

func (copyMoney) GormDataType() string { return "numeric" }

func (u copyUpper) GormValue(context.Context, *gorm.DB) clause.Expr {
	if u.Text == "" {
		return gorm.Expr("NULL")
	}
	return gorm.Expr("?", strings.ToUpper(u.Text))
}

func (u *copyUpper) Scan(any) error { return nil }

func (copyUpper) GormDataType() string { return "text" }

// copyFields are the fields from which [copyModel] chooses. Each has another Go type,
// type of column, default, serializer or permission.
var copyFields = []copyField{
	{of: ""},
	{of: new(string)},
	{of: copyName("")},
	{of: new(copyName)},
	{of: sql.NullString{}},
	{of: "", tag: `gorm:"default:abc"`},
	{of: new(string), tag: `gorm:"default:abc"`},
	{of: copyName(""), tag: `gorm:"default:'a b'"`},
	{of: sql.NullString{}, tag: `gorm:"default:abc"`},
	{of: "", tag: `gorm:"default:null"`, byDatabase: true},
	{of: "", tag: `gorm:"default:lower('ABC')"`, byDatabase: true},
	{of: new(string), tag: `gorm:"default:lower('ABC')"`, byDatabase: true},
	{of: "", tag: `gorm:"type:jsonb;serializer:json"`},
	{of: "", tag: `gorm:"type:varchar(300)"`},
	{of: int(0)},
	{of: int8(0)},
	{of: int16(0)},
	{of: int32(0)},
	{of: int64(0)},
	{of: new(int)},
	{of: new(int64)},
	{of: copyLevel(0)},
	{of: uint(0)},
	{of: uint8(0)},
	{of: uint16(0)},
	{of: uint32(0)},
	{of: uint64(0)},
	{of: new(uint32)},
	{of: int(0), tag: `gorm:"type:integer"`},
	{of: int64(0), tag: `gorm:"type:numeric"`},
	{of: int64(0), tag: `gorm:"size:16"`},
	{of: int(0), tag: `gorm:"default:42"`},
	{of: new(int), tag: `gorm:"default:42"`},
	{of: int64(0), tag: `gorm:"default:0"`},
	{of: sql.NullInt64{}},
	{of: sql.NullInt64{}, tag: `gorm:"default:9"`},
	{of: int64(0), tag: `gorm:"default:(40+2)"`, byDatabase: true},
	{of: false},
	{of: new(bool)},
	{of: false, tag: `gorm:"default:true"`},
	{of: new(bool), tag: `gorm:"default:true"`},
	{of: sql.NullBool{}},
	{of: float32(0)},
	{of: float64(0)},
	{of: new(float64)},
	{of: float64(0), tag: `gorm:"default:1.5"`},
	{of: float64(0), tag: `gorm:"type:double precision"`},
	{of: float32(0), tag: `gorm:"type:real"`},
	{of: float64(0), tag: `gorm:"precision:10;scale:2"`},
	{of: time.Time{}},
	{of: new(time.Time)},
	{of: sql.NullTime{}},
	{of: gorm.DeletedAt{}},
	{of: time.Time{}, tag: `gorm:"type:date"`},
	{of: time.Time{}, tag: `gorm:"type:timestamp"`},
	{of: time.Time{}, tag: `gorm:"precision:3"`},
	{of: time.Time{}, tag: `gorm:"default:2020-01-02 03:04:05"`},
	{of: time.Time{}, tag: `gorm:"autoCreateTime"`},
	{of: new(time.Time), tag: `gorm:"autoUpdateTime"`},
	{of: sql.NullTime{}, tag: `gorm:"autoCreateTime"`},
	{of: int64(0), tag: `gorm:"autoCreateTime"`},
	{of: int64(0), tag: `gorm:"autoUpdateTime:milli"`},
	{of: int64(0), tag: `gorm:"autoUpdateTime:nano"`},
	{of: uint64(0), tag: `gorm:"autoCreateTime:nano"`},
	{of: int(0), tag: `gorm:"autoUpdateTime;<-:update"`},
	{of: []byte(nil)},
	{of: new([]byte)},
	{of: json.RawMessage(nil), tag: `gorm:"type:jsonb"`},
	{of: [16]byte{}, tag: `gorm:"type:uuid"`},
	{of: copyDetail{}, tag: `gorm:"serializer:json"`},
	{of: new(copyDetail), tag: `gorm:"serializer:json;not null"`},
	{of: map[string]int(nil), tag: `gorm:"type:jsonb;serializer:json"`},
	{of: []string(nil), tag: `gorm:"serializer:json"`},
	{of: copyDetail{}, tag: `gorm:"type:bytea;serializer:gob"`},
	{of: int64(0), tag: `gorm:"serializer:unixtime;type:timestamptz"`},
	{of: copyPart{}, tag: `gorm:"embedded;embeddedPrefix:home_"`},
	{of: new(copyPart), tag: `gorm:"embedded;embeddedPrefix:work_"`},
	{of: copyPoint{}},
	{of: new(copyPoint)},
	{of: copyMoney{}},
	{of: copyMoney{}, tag: `gorm:"type:decimal(20,4)"`},
	{of: copyUpper{}},
	{of: new(copyUpper)},
	{of: types.ID(0)},
	{of: new(types.ID)},
	{of: types.ID(0), tag: `snowflake:"id"`},
	{of: "", tag: `gorm:"size:40" snowflake:"serial=PAY"`},
	{of: types.ID(0), tag: `gorm:"type:numeric"`},
	{of: int64(0), tag: `snowflake:"id"`},
	{of: "", tag: `gorm:"->"`},
	{of: "", tag: `gorm:"<-:update"`},
	{of: "", tag: `gorm:"<-:create"`},
	{of: "", tag: `gorm:"->:false;<-:create"`},
	{of: "", tag: `gorm:"-"`},
	{of: "", tag: `gorm:"->;default:abc"`},
	{of: "", tag: `gorm:"-:migration;->"`},
}

// copyModel returns a random model of one to twelve of the copyFields, and the indexes of
// its fields that the database fills.
func copyModel(r *rand.Rand) (model reflect.Type, byDatabase []int) {
	fields := []reflect.StructField{{Name: "ID", Type: reflect.TypeFor[types.ID](), Tag: `gorm:"primaryKey" snowflake:"pk"`}}
	embedded := map[string]bool{}
	for _, i := range r.Perm(len(copyFields))[:1+r.IntN(12)] {
		f := copyFields[i]
		if strings.Contains(f.tag, "embedded") && embedded[f.tag] {
			continue
		}
		embedded[f.tag] = true
		if f.byDatabase {
			byDatabase = append(byDatabase, len(fields))
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeOf(f.of), Tag: reflect.StructTag(f.tag)})
	}
	if r.IntN(3) == 0 {
		fields = append(fields, reflect.StructField{Name: "CreatedAt", Type: reflect.TypeFor[time.Time]()})
	}
	return reflect.StructOf(fields), byDatabase
}

// copyRandomRows returns a pointer to a list of random rows of the model. Two calls with
// sources of the same seed return equal rows. mixed reports whether only some of the rows set
// a field that the database otherwise fills, which CopySource rejects.
func copyRandomRows(r *rand.Rand, model reflect.Type, byDatabase []int) (rows any, mixed bool) {
	n := 1 + r.IntN(6)
	elem, pointers := model, r.IntN(2) == 0
	if pointers {
		elem = reflect.PointerTo(model)
	}
	list := reflect.New(reflect.SliceOf(elem))
	list.Elem().Set(reflect.MakeSlice(reflect.SliceOf(elem), n, n))
	set := map[int]int{} // by field that the database otherwise fills, the number of rows that set it
	for i := range n {
		row := list.Elem().Index(i)
		if pointers {
			row.Set(reflect.New(model))
			row = row.Elem()
		}
		for f := range model.NumField() {
			copyRandom(r, row.Field(f))
		}
		for _, f := range byDatabase {
			if !row.Field(f).IsZero() {
				set[f]++
			}
		}
	}
	// If only some rows set a field, three quarters of the lists clear it in all rows.
	for _, f := range byDatabase {
		switch keep := r.IntN(4); {
		case set[f] == 0 || set[f] == n:
		case keep == 0:
			mixed = true
		default:
			for i := range n {
				reflect.Indirect(list.Elem().Index(i)).Field(f).SetZero()
			}
		}
	}
	return list.Interface(), mixed
}

// copyRandom sets v, or leaves it zero.
func copyRandom(r *rand.Rand, v reflect.Value) {
	if r.IntN(3) == 0 {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		zone := time.FixedZone("", 3600*(r.IntN(24)-12))
		v.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9)-1e9, r.Int64N(1e9)).In(zone)))
		return
	case sql.NullTime, gorm.DeletedAt:
		v.FieldByName("Valid").SetBool(true)
		copyRandom(r, v.FieldByName("Time"))
		return
	case sql.NullString:
		v.Set(reflect.ValueOf(sql.NullString{String: copyText(r), Valid: r.IntN(2) == 0}))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"b": %d, "a": [1, null]}`, r.IntN(10)))))
		return
	case types.ID:
		v.SetInt(1 + r.Int64N(1e9))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(copyText(r))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		// At most 15 bits, because some columns are a smallint, such as with size:16.
		v.SetInt(r.Int64N(1<<(min(v.Type().Bits(), 16)-1)) - r.Int64N(100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64N(1 << min(v.Type().Bits(), 15)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64() * 1000)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		copyRandom(r, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			copyRandom(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			copyRandom(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]int{"a": r.IntN(5), copyText(r): 1}))
	case reflect.Struct:
		for i := range v.NumField() {
			copyRandom(r, v.Field(i))
		}
	}
}

// copyText returns text with characters that have a meaning in COPY or SQL.
func copyText(r *rand.Rand) string {
	pieces := []string{"", "a", "Zoë", `"`, `\`, "\n", "\t", "'", "\\N", "漢字", " ", "NULL"}
	return pieces[r.IntN(len(pieces))] + pieces[r.IntN(len(pieces))]
}

// copyIn copies the rows into the table by a connection of GORM's pool.
func copyIn(t testing.TB, db *gorm.DB, rows any) (int64, error) {
	t.Helper()
	src, err := gormflake.CopySource(db, rows)
	if err != nil {
		return 0, err
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var n int64
	err = conn.Raw(func(c any) (err error) {
		n, err = c.(*stdlib.Conn).Conn().CopyFrom(t.Context(), src.Table(), src.Columns(), src)
		return err
	})
	return n, err
}

// TestCopyIsCreate checks that CopySource writes the same values as Create, byte by byte,
// and leaves the structs in the same state.
func TestCopyIsCreate(t *testing.T) {
	t.Parallel()
	const models, tries = 40, 4
	gen := plugintest.NewLayoutCounter()
	now := time.Date(2026, 11, 22, 10, 20, 30, 123456789, time.FixedZone("", 7200))
	db := testdb.Open(t, testdb.Postgres, &gorm.Config{NowFunc: func() time.Time { return now }})
	plugintest.Use(t, db, gormflake.New(gen))
	equal := 0
	for seed := range uint64(models) {
		model, byDatabase := copyModel(rand.New(rand.NewPCG(seed, 0)))
		for _, table := range []string{"made", "copied"} {
			if err := db.Table(table).Migrator().CreateTable(reflect.New(model).Interface()); err != nil {
				t.Fatalf("model %d, %s: %v", seed, model, err)
			}
		}
		for try := range uint64(tries) {
			made, _ := copyRandomRows(rand.New(rand.NewPCG(seed, 1+try)), model, byDatabase)
			copied, mixed := copyRandomRows(rand.New(rand.NewPCG(seed, 1+try)), model, byDatabase)
			// The generator begins again, so that Create and COPY get the same IDs.
			gen.Last = 0
			createErr := db.Table("made").Create(made).Error
			gen.Last = 0
			_, copyErr := copyIn(t, db.Table("copied"), copied)
			switch {
			case mixed:
				if copyErr == nil || !strings.Contains(copyErr.Error(), "for all rows or none") {
					t.Errorf("model %d, rows %d: %v, want an error about the default", seed, try, copyErr)
				}
			case createErr != nil || copyErr != nil:
				t.Errorf("model %d, rows %d: Create: %v, COPY: %v\n%s\n%+v", seed, try, createErr, copyErr, model, copied)
			default:
				equal++
				wantSameRows(t, db, fmt.Sprintf("model %d, rows %d, %s", seed, try, model))
				wantSameStructs(t, made, copied, byDatabase)
			}
			plugintest.Must(t, db.Exec("TRUNCATE made, copied"))
		}
		plugintest.Must(t, db.Exec("DROP TABLE made, copied"))
	}
	// If fewer lists were compared, the test would show too little.
	if least := models * tries * 8 / 10; equal < least {
		t.Errorf("%d lists of rows compared, want %d", equal, least)
	}
}

// wantSameRows compares the tables made and copied, by the bytes that PostgreSQL sends
// for each row.
func wantSameRows(t *testing.T, db *gorm.DB, what string) {
	t.Helper()
	rows := func(table string) (sent, text []string) {
		plugintest.Must(t, db.Table(table).Order("id").Pluck("encode(record_send("+table+"), 'hex')", &sent))
		plugintest.Must(t, db.Table(table).Order("id").Pluck(table+"::text", &text))
		return sent, text
	}
	made, madeText := rows("made")
	copied, copiedText := rows("copied")
	if len(made) == 0 || !slices.Equal(made, copied) {
		t.Errorf("%s:\nmade   %s\ncopied %s", what, madeText, copiedText)
	}
}

// wantSameStructs compares the structs after Create and COPY, without the fields that
// only Create reads back.
func wantSameStructs(t *testing.T, made, copied any, byDatabase []int) {
	t.Helper()
	for _, rows := range []any{made, copied} {
		list := reflect.ValueOf(rows).Elem()
		for i := range list.Len() {
			for _, f := range byDatabase {
				reflect.Indirect(list.Index(i)).Field(f).SetZero()
			}
		}
	}
	if !reflect.DeepEqual(made, copied) {
		t.Errorf("structs after Create and COPY differ:\n%+v\n%+v", made, copied)
	}
}
