package fill_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/types"
)

// The models of the generated statements. B is an embedded struct with the key, and F is
// the type of a foreign key. Each row has a unique code, and each child has the code of
// its parent, by which the test asks the database whether they belong together.
type (
	place[B, F any] struct {
		Base   B        `gorm:"embedded"`
		Public types.ID `snowflake:"id"`
		Number string   `gorm:"size:28" snowflake:"serial=PAY"`
		Code   string   `gorm:"size:20;unique"`
		Stock  int
		UpID   F
		UpCode string       `gorm:"size:20"`
		Up     *up[B, F]    `gorm:"foreignKey:UpID;constraint:-"`
		Parts  []part[B, F] `gorm:"foreignKey:PlaceID;constraint:-"`
		Label  *label[B, F] `gorm:"foreignKey:PlaceID;constraint:-"`
	}
	up[B, F any] struct {
		Base   B             `gorm:"embedded"`
		Code   string        `gorm:"size:20;unique"`
		Places []place[B, F] `gorm:"foreignKey:UpID;constraint:-"`
	}
	part[B, F any] struct {
		Base    B      `gorm:"embedded"`
		Code    string `gorm:"size:20;unique"`
		PlaceID F
		Owner   string `gorm:"size:20"`
	}
	label[B, F any] struct {
		Base    B      `gorm:"embedded"`
		Code    string `gorm:"size:20;unique"`
		PlaceID F
		Owner   string `gorm:"size:20"`
	}
)

func (place[B, F]) TableName() string { return "places" }
func (up[B, F]) TableName() string    { return "ups" }
func (part[B, F]) TableName() string  { return "parts" }
func (label[B, F]) TableName() string { return "labels" }

// changeKey and callbackKey are the context keys of functions that change the statement.
// The hook runs the function under changeKey. A callback runs the function under the
// callbackKey with the callback's name.
type (
	changeKey   struct{}
	callbackKey string // the name of the callback
)

// BeforeCreate changes the statement, if its context has a function for that.
func (p *place[B, F]) BeforeCreate(tx *gorm.DB) error {
	if change, ok := tx.Statement.Context.Value(changeKey{}).(func(*gorm.DB)); ok {
		change(tx)
	}
	return nil
}

// The kinds of keys.
type (
	keyOfID struct {
		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	keyOfType struct {
		ID types.Of[statement] `gorm:"primaryKey" snowflake:"pk"`
	}
	keyOfInt struct {
		ID int64 `gorm:"primaryKey;autoIncrement:false" snowflake:"pk"`
	}
	keyOfCounter struct {
		ID int64 `gorm:"primaryKey" snowflake:"pk"`
	}
	keyOfText struct {
		ID string `gorm:"primaryKey;size:20" snowflake:"pk"`
	}
	keyOfPointer struct {
		ID *types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	keyOfUint struct { // key of a listed model
		ID uint `gorm:"primaryKey"`
	}
)

// statement is a way to create rows. Its fields are keys of [changes] and [codes], and
// elements of [paths] and [changers].
type statement struct {
	path, change, changedBy, rows string
	children                      bool // the rows have related rows
}

// paths are the forms of a create, changers say who changes the statement, and codes are
// the codes of the rows. The codes old and old2 are in the table already.
var (
	paths    = []string{"struct", "slice", "pointers", "array", "batches", "save", "map", "maps", "generic", "assigned", "append", "nested"}
	changers = []string{"caller", "hook", "callback", "late callback"}
	codes    = map[string][]string{"new": {"a", "b"}, "old": {"old"}, "mixed": {"a", "old", "b"}, "twice": {"a", "a"}, "pair": {"old2", "old"}}
)

// changes are modifications of a statement by a caller, a hook or a callback. Each
// function returns nil if the database does not support the modification.
var changes = map[string]func(database string) func(*gorm.DB) *gorm.DB{
	"none":           func(string) func(*gorm.DB) *gorm.DB { return func(tx *gorm.DB) *gorm.DB { return tx } },
	"nothing":        conflicts(clause.OnConflict{DoNothing: true}),
	"nothing, code":  conflicts(clause.OnConflict{DoNothing: true, Columns: []clause.Column{{Name: "code"}}}),
	"empty":          only("sqlite", conflicts(clause.OnConflict{})),
	"columns":        conflicts(plugintest.ByCode("stock")),
	"all":            conflicts(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, UpdateAll: true}),
	"all, key":       conflicts(clause.OnConflict{UpdateAll: true}),
	"columns, key":   conflicts(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"stock"})}),
	"condition":      conflicts(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"stock"}), Where: clause.Where{Exprs: []clause.Expression{gorm.Expr("places.stock < 0")}}}),
	"returns stock":  conflicts(plugintest.ByCode("stock"), clause.Returning{Columns: []clause.Column{{Name: "stock"}}}),
	"returns all":    conflicts(plugintest.ByCode("stock"), clause.Returning{}),
	"nothing, all":   conflicts(clause.OnConflict{DoNothing: true}, clause.Returning{}),
	"returns, plain": conflicts(clause.Returning{Columns: []clause.Column{{Name: "stock"}}}),
	"constraint":     only("postgres", conflicts(clause.OnConflict{OnConstraint: "uni_places_code", UpdateAll: true})),
	"ignore":         modifier(map[string]string{"sqlite": "OR IGNORE", "mysql": "IGNORE"}),
	"replace":        modifier(map[string]string{"sqlite": "OR REPLACE"}),
	"omit key":       func(string) func(*gorm.DB) *gorm.DB { return func(tx *gorm.DB) *gorm.DB { return tx.Omit("ID") } },
	"omit public":    func(string) func(*gorm.DB) *gorm.DB { return func(tx *gorm.DB) *gorm.DB { return tx.Omit("Public") } },
	"omit number":    func(string) func(*gorm.DB) *gorm.DB { return func(tx *gorm.DB) *gorm.DB { return tx.Omit("number") } },
	"select": func(string) func(*gorm.DB) *gorm.DB {
		return func(tx *gorm.DB) *gorm.DB {
			return tx.Select("Code", "Stock", "Up", "UpID", "UpCode", "Parts", "Label")
		}
	},
}

// conflicts returns a change that adds clauses to the statement.
func conflicts(clauses ...clause.Expression) func(string) func(*gorm.DB) *gorm.DB {
	return func(string) func(*gorm.DB) *gorm.DB {
		return func(tx *gorm.DB) *gorm.DB { return tx.Clauses(clauses...) }
	}
}

// only returns a change that only one database supports.
func only(database string, change func(string) func(*gorm.DB) *gorm.DB) func(string) func(*gorm.DB) *gorm.DB {
	return func(name string) func(*gorm.DB) *gorm.DB {
		if name != database {
			return nil
		}
		return change(name)
	}
}

// modifier returns a change that adds a word after INSERT, such as IGNORE, by database.
func modifier(of map[string]string) func(string) func(*gorm.DB) *gorm.DB {
	return func(name string) func(*gorm.DB) *gorm.DB {
		if of[name] == "" {
			return nil
		}
		return conflicts(clause.Insert{Modifier: of[name]})(name)
	}
}

// statements returns all statements of a database in a random order.
func statements(database string, random *rand.Rand) (all []statement) {
	for _, path := range paths {
		for _, change := range slices.Sorted(maps.Keys(changes)) {
			for _, changedBy := range changers {
				for _, rows := range slices.Sorted(maps.Keys(codes)) {
					for _, children := range []bool{false, true} {
						s := statement{path, change, changedBy, rows, children}
						if s.possible(database) {
							all = append(all, s)
						}
					}
				}
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// possible reports whether GORM and the database support the statement, and whether it
// differs from the other statements.
func (s statement) possible(database string) bool {
	isMap := s.path == "map" || s.path == "maps"
	related := s.path == "append" || s.path == "nested"
	switch {
	// A map has no children and no hooks. A caller's change would apply to the parent.
	case changes[s.change](database) == nil, isMap && (s.children || s.changedBy == "hook"), related && s.changedBy == "caller":
		return false
	case s.path == "append" && s.children: // GORM does not save them
		return false
	case related && (s.change == "returns all" || s.change == "nothing, all"): // GORM panics
		return false
	case s.path == "struct" || s.path == "map" || s.path == "generic": // creates one row
		return len(codes[s.rows]) == 1 || s.rows == "new"
	}
	return s.change != "none" || s.changedBy == "caller" // "none" is the same by each changer
}

// limit returns the number of statements that each database runs for each kind of key. It
// is 60 unless GORMFLAKE_TEST_STATEMENTS gives another number. all is the number of possible
// statements, which limits the number of the variable.
func limit(t *testing.T, all int) int {
	text := os.Getenv("GORMFLAKE_TEST_STATEMENTS")
	if text == "" {
		return 60
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return min(n, all)
}

// TestStatements checks creates of many forms that the caller, a hook or a callback
// changes, for example into an upsert. If a create returns no error, the row with the key
// of the struct must be the row of the struct, and the foreign key of each child must be
// the key of its parent. If it returns an error, it must have stored nothing.
func TestStatements(t *testing.T) {
	t.Parallel()
	t.Run("types.ID", testStatements[keyOfID, types.ID])
	t.Run("types.Of", testStatements[keyOfType, types.Of[statement]])
	t.Run("int64", testStatements[keyOfInt, int64])
	t.Run("counter", testStatements[keyOfCounter, int64])
	t.Run("string", testStatements[keyOfText, string])
	t.Run("pointer", testStatements[keyOfPointer, *types.ID])
	t.Run("listed uint", testStatements[keyOfUint, uint])
}

// testStatements runs the statements with keys of type B and foreign keys of type F. It
// logs how many passed, and the errors.
func testStatements[B, F any](t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		prepareStatements[B, F](t, db)
		all := statements(db.Name(), rand.New(rand.NewPCG(1, 2)))
		passed, refused := 0, map[string]int{}
		for _, s := range all[:limit(t, len(all))] {
			err, problem := runStatement[B, F](t, db, s)
			if problem != nil {
				t.Errorf("%+v: %v (err = %v)", s, problem, err)
			}
			if err != nil {
				refused[digits.ReplaceAllString(err.Error(), "N")]++
			} else {
				passed++
			}
		}
		t.Logf("%d of %d statements: %d passed", limit(t, len(all)), len(all), passed)
		for _, message := range slices.Sorted(maps.Keys(refused)) {
			t.Logf("%d refused: %s", refused[message], message)
		}
	})
}

var digits = regexp.MustCompile(`[0-9]+`)

// TestStatementsFindEarlyDecisions checks that the statements find wrong keys in structs
// if the plugin lacks its callback after the INSERT, or also the callback before it.
// Otherwise TestStatements would show nothing.
func TestStatementsFindEarlyDecisions(t *testing.T) {
	t.Parallel()
	for _, callbacks := range [][]string{{"gormflake:found"}, {"gormflake:insert", "gormflake:found"}} {
		t.Run(callbacks[0], func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, testdb.SQLite)
			prepareStatements[keyOfInt, int64](t, db)
			for _, callback := range callbacks {
				if err := db.Callback().Create().Replace(callback, func(*gorm.DB) {}); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range statements(db.Name(), rand.New(rand.NewPCG(1, 2))) {
				if _, problem := runStatement[keyOfInt, int64](t, db, s); problem != nil {
					t.Logf("%+v: %v", s, problem)
					return
				}
			}
			t.Error("no statement failed")
		})
	}
}

// prepareStatements registers the plugin, creates the tables, and registers callbacks
// that change a statement before and after the plugin prepares it.
func prepareStatements[B, F any](t *testing.T, db *gorm.DB) {
	t.Helper()
	gen, err := plugintest.SharedGenerator()
	if err != nil {
		t.Fatal(err)
	}
	models := []any{&up[B, F]{}, &place[B, F]{}, &part[B, F]{}, &label[B, F]{}}
	plugin := gormflake.New(gen)
	if reflect.TypeFor[B]() == reflect.TypeFor[keyOfUint]() {
		plugin = gormflake.New(gen, gormflake.WithModels(models...))
	}
	plugintest.Use(t, db, plugin)
	plugintest.Migrate(t, db, models...)
	for name, before := range map[string]string{"test:early": "gormflake:insert", "test:late": "gorm:create"} {
		if err := db.Callback().Create().Before(before).Register(name, func(tx *gorm.DB) {
			if change, ok := tx.Statement.Context.Value(callbackKey(name)).(func(*gorm.DB)); ok && tx.Statement.Table == "places" {
				change(tx)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// runStatement empties the tables, inserts two old rows and a parent, and then runs the
// statement, which creates further rows. It returns the error of the statement. The problem
// is not nil if the database contradicts the structs of the new or the old rows, or if the
// statement has returned an error and changed the number of rows in a table.
func runStatement[B, F any](t *testing.T, db *gorm.DB, s statement) (err, problem error) {
	t.Helper()
	for _, table := range []string{"places", "ups", "parts", "labels"} {
		plugintest.Must(t, db.Exec("DELETE FROM "+table))
	}
	olds := []place[B, F]{{Code: "old", Stock: 1}, {Code: "old2", Stock: 1}}
	plugintest.Must(t, db.Create(&olds))
	parent := up[B, F]{Code: "up old"}
	plugintest.Must(t, db.Create(&parent))
	before := countRows(t, db)
	rows, err := create(db, s, &parent)
	if err != nil {
		if after := countRows(t, db); after != before {
			return err, fmt.Errorf("the tables had %v rows and have %v", before, after)
		}
		return err, nil
	}
	for i := range rows {
		// A struct without a code is no row. With RETURNING *, GORM empties an array and
		// fills it from its start with the returned rows, which may be fewer.
		if rows[i].Code != "" {
			problem = errors.Join(problem, checkRow(db, s, &rows[i]))
		}
	}
	if s.change != "replace" { // which deletes the old rows that conflict
		for i := range olds {
			// The zero statement has no change that would allow an old row to have no key.
			problem = errors.Join(problem, checkRow(db, statement{}, &olds[i]))
		}
	}
	return nil, problem
}

// countRows returns the number of rows of each table.
func countRows(t *testing.T, db *gorm.DB) (n [4]int64) {
	t.Helper()
	for i, table := range []string{"places", "ups", "parts", "labels"} {
		plugintest.Must(t, db.Table(table).Count(&n[i]))
	}
	return n
}

// create runs the statement and returns its rows.
func create[B, F any](db *gorm.DB, s statement, parent *up[B, F]) (rows []place[B, F], err error) {
	rows = newRows[B, F](s)
	change := changes[s.change](db.Name())
	// A hook or callback cannot return another statement, so it changes its own.
	inPlace := func(tx *gorm.DB) { change(tx.Statement.DB) }
	ctx := context.Background()
	switch s.changedBy {
	case "caller":
		db = change(db)
	case "hook":
		ctx = context.WithValue(ctx, changeKey{}, inPlace)
	case "callback":
		ctx = context.WithValue(ctx, callbackKey("test:early"), inPlace)
	case "late callback":
		ctx = context.WithValue(ctx, callbackKey("test:late"), inPlace)
	}
	db = db.WithContext(ctx)
	switch s.path {
	case "struct":
		rows = rows[:1]
		return rows, db.Create(&rows[0]).Error
	case "slice":
		err = db.Create(&rows).Error
		return rows, err
	case "pointers":
		pointers := []*place[B, F]{}
		for i := range rows {
			pointers = append(pointers, &rows[i])
		}
		err = db.Create(&pointers).Error
		return rowsOf(pointers), err
	case "array":
		array := [2]place[B, F]{rows[0], rows[len(rows)-1]}
		err = db.Create(&array).Error
		return array[:], err
	case "batches":
		return rows, db.CreateInBatches(rows, 2).Error
	case "save":
		err = db.Save(&rows).Error
		return rows, err
	case "generic":
		rows = rows[:1]
		return rows, createGeneric(ctx, db, &rows[0])
	case "assigned":
		if err := gormflake.Assign(db, &rows); err != nil {
			return nil, err
		}
		err = db.Create(&rows).Error
		return rows, err
	case "append":
		for i := range rows {
			rows[i].Up, rows[i].UpCode = nil, parent.Code
		}
		err = db.Model(parent).Association("Places").Append(&rows)
		return parent.Places, err
	case "nested":
		for i := range rows {
			rows[i].Up, rows[i].UpCode = nil, "nest"
		}
		nest := up[B, F]{Code: "nest", Places: rows}
		err = db.Create(&nest).Error
		return nest.Places, err
	}
	return createMaps[B, F](db, s, rows)
}

// createGeneric creates a row by GORM's generics API if its key is a types.ID, and otherwise
// by the classic API. The generics API calls the same Create, so one kind of key is enough.
// The compiler takes seconds for the generics API of each model.
func createGeneric(ctx context.Context, db *gorm.DB, row any) error {
	if place, ok := row.(*placeOfID); ok {
		return gorm.G[placeOfID](db).Create(ctx, place)
	}
	return db.Create(row).Error
}

type placeOfID = place[keyOfID, types.ID]

// rowsOf returns copies of the rows.
func rowsOf[B, F any](pointers []*place[B, F]) (rows []place[B, F]) {
	for _, p := range pointers {
		rows = append(rows, *p)
	}
	return rows
}

// createMaps creates rows from maps, and returns the keys that the maps have then.
func createMaps[B, F any](db *gorm.DB, s statement, rows []place[B, F]) ([]place[B, F], error) {
	list := make([]map[string]any, len(rows))
	for i, row := range rows {
		list[i] = map[string]any{"code": row.Code, "stock": row.Stock}
	}
	db = db.Model(&place[B, F]{})
	var err error
	if s.path == "map" {
		list, rows = list[:1], rows[:1]
		err = db.Create(list[0]).Error
	} else {
		err = db.Create(&list).Error
	}
	for i := range rows {
		rows[i].Public = plugintest.KeyOf(list[i]["public"])
		rows[i].Number, _ = list[i]["number"].(string)
		if id := list[i]["id"]; id != nil {
			scan(&rows[i].Base, id)
		}
	}
	return rows, err
}

// scan sets the key of a row to the value of a map.
func scan(base, id any) {
	field := reflect.ValueOf(base).Elem().Field(0)
	switch value := reflect.ValueOf(id); {
	case field.Kind() == reflect.Pointer:
		key := plugintest.KeyOf(id)
		field.Set(reflect.ValueOf(&key))
	case field.Kind() == reflect.String:
		field.SetString(fmt.Sprint(id))
	default:
		field.Set(value.Convert(field.Type()))
	}
}

// newRows returns the rows of a statement, without keys.
func newRows[B, F any](s statement) (rows []place[B, F]) {
	for i, code := range codes[s.rows] {
		row := place[B, F]{Code: code, Stock: 2}
		if s.children {
			row.UpCode = []string{"up old", "up new", "up 3"}[i]
			row.Up = &up[B, F]{Code: row.UpCode}
			row.Parts = []part[B, F]{{Code: fmt.Sprint("p", i), Owner: code}, {Code: fmt.Sprint("q", i), Owner: code}}
			row.Label = &label[B, F]{Code: fmt.Sprint("l", i), Owner: code}
		}
		rows = append(rows, row)
	}
	return rows
}

// checkRow returns an error if the database has no row with the key of the struct, if that
// row has another code or other tagged values, or if a child has another parent. For a struct
// without a key it calls checkLeftOut.
func checkRow[B, F any](db *gorm.DB, s statement, row *place[B, F]) error {
	key := reflect.ValueOf(row.Base).Field(0)
	if key.IsZero() {
		return checkLeftOut(s, row)
	}
	var stored struct {
		Code, Number string
		Public       types.ID
	}
	err := db.Table("places").Select("code, number, public").Where("id = ?", key.Interface()).Take(&stored).Error
	if err != nil || stored.Code != row.Code || stored.Public != row.Public || stored.Number != row.Number {
		return fmt.Errorf("the key %v has the row %+v, the struct %s %d %s: %w", key, stored, row.Code, row.Public, row.Number, err)
	}
	return errors.Join(
		orphans(db, "parts c LEFT JOIN places p ON p.id = c.place_id WHERE p.code IS NULL OR p.code <> c.owner"),
		orphans(db, "labels c LEFT JOIN places p ON p.id = c.place_id WHERE p.code IS NULL OR p.code <> c.owner"),
		orphans(db, "places c LEFT JOIN ups p ON p.id = c.up_id WHERE c.code IN ('a', 'b') AND c.up_code <> '' AND (p.code IS NULL OR p.code <> c.up_code)"),
		checkChildren(db, s, row),
	)
}

// checkLeftOut checks a struct without a key, whose row must not have been inserted and
// must have no children.
func checkLeftOut[B, F any](s statement, row *place[B, F]) error {
	mayBeLeftOut := slices.Contains([]string{"nothing", "nothing, code", "nothing, all", "condition", "ignore", "replace"}, s.change)
	if s.path == "maps" && s.change == "omit key" {
		return nil // GORM reads no key into a list of maps
	}
	if !mayBeLeftOut || row.Public != 0 || row.Number != "" || s.children {
		return fmt.Errorf("the struct %s has no key, public %d, number %q", row.Code, row.Public, row.Number)
	}
	return nil
}

// orphans returns an error if the part of a query after FROM finds rows, which are
// children that do not refer to their parent.
func orphans(db *gorm.DB, from string) error {
	var n sql.NullInt64
	if err := db.Raw("SELECT count(*) FROM " + from).Scan(&n).Error; err != nil || n.Int64 != 0 {
		return fmt.Errorf("%d rows of %s: %w", n.Int64, from, err)
	}
	return nil
}

// checkChildren compares the keys of the related structs with their rows.
func checkChildren[B, F any](db *gorm.DB, s statement, row *place[B, F]) (err error) {
	check := func(table, code string, base B) {
		var stored string
		key := reflect.ValueOf(base).Field(0).Interface()
		if s.change == "nothing, all" && reflect.ValueOf(key).IsZero() {
			return // GORM has shortened the list of rows, and saves no children of the rest
		}
		if failed := db.Table(table).Select("code").Where("id = ?", key).Row().Scan(&stored); failed != nil || stored != code {
			err = errors.Join(err, fmt.Errorf("the key %v of %s has the row %q, the struct %q: %w", key, table, stored, code, failed))
		}
	}
	if row.Up != nil {
		check("ups", row.Up.Code, row.Up.Base)
	}
	for _, p := range row.Parts {
		check("parts", p.Code, p.Base)
	}
	if row.Label != nil {
		check("labels", row.Label.Code, row.Label.Base)
	}
	return err
}
