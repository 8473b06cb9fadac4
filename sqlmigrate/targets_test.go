package sqlmigrate_test

import (
	"slices"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/sqlmigrate"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlHandle returns a handle with MySQL's dialect, for plans that run on a FakeEngine.
// Its pool is that of another database, because no statement is sent to it.
func mysqlHandle(t *testing.T) *gorm.DB {
	t.Helper()
	pool, err := sqlite(t).DB()
	if err != nil {
		t.Fatal(err)
	}
	db, err := gorm.Open(mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true}))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Models with associations of each kind. badge refers to a column of person that is not
// its key, elsewhere has a schema, and misnamed has a table name that cannot be quoted.
type (
	person struct {
		ID        int64
		ManagerID *int64
		Manager   *person
		Toys      []toy   `gorm:"polymorphic:Owner"`
		Tags      []tag   `gorm:"many2many:person_tags"`
		Address   address `gorm:"embedded"`
		Code      string  `gorm:"unique"`
	}
	toy struct {
		ID        int64
		OwnerID   int64
		OwnerType string
		MakerID   int64
		Maker     maker
	}
	tag struct {
		ID   int64
		Name string
	}
	maker   struct{ ID int64 }
	city    struct{ ID int64 }
	address struct {
		CityID int64
		City   city
	}
	badge struct {
		ID         int64
		PersonCode string
		Person     person `gorm:"foreignKey:PersonCode;references:Code"`
	}
	elsewhere struct{ ID int64 }
	misnamed  struct{ ID int64 }
)

func (elsewhere) TableName() string { return "shop.elsewhere" }
func (misnamed) TableName() string  { return "a.b.c" }

// Inspect finds the references of the associations of person. The model can be given as a
// pointer, a value, a nil pointer or a slice. Inspect also finds them from badge, a model
// that refers to person.
func TestModelReferences(t *testing.T) {
	t.Parallel()
	want := []string{
		"people.city_id -> cities.id",
		"people.manager_id -> people.id",
		"person_tags.person_id -> people.id",
		"person_tags.tag_id -> tags.id",
		"toys.maker_id -> makers.id",
		"toys.owner_id -> people.id",
	}
	for name, target := range map[string]any{
		"pointer": &person{}, "value": person{}, "nil pointer": (*person)(nil), "slice": []person{}, "from afar": &badge{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := want
			if name == "from afar" {
				want = append([]string{"badges.person_code -> people.code"}, want...)
			}
			got, err := sqlmigrate.ModelReferences(sqlite(t), target)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("references\n%q, %v, want\n%q", got, err, want)
			}
		})
	}
}

type (
	owner struct {
		ID    int64
		Badge ownerBadge
	}
	ownerBadge struct {
		Name    string `gorm:"primaryKey"`
		OwnerID int64
		Prints  []badgePrint `gorm:"foreignKey:BadgeOwner;references:OwnerID"`
	}
	badgePrint struct {
		Path       string `gorm:"primaryKey"`
		BadgeOwner int64
	}
)

// The column to which a reference leads need not be a key. It can itself hold keys of
// another table, as owner_badges.owner_id does, so that both columns must become wide.
func TestModelReferencesToNoKey(t *testing.T) {
	t.Parallel()
	got, err := sqlmigrate.ModelReferences(sqlite(t), &owner{})
	want := []string{"badge_prints.badge_owner -> owner_badges.owner_id", "owner_badges.owner_id -> owners.id"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("references %q, %v, want %q", got, err, want)
	}
}

// A house embeds the same struct twice.
type house struct {
	ID     int64
	Before address `gorm:"embedded;embeddedPrefix:before_"`
	After  address `gorm:"embedded;embeddedPrefix:after_"`
}

// A model may embed the same struct twice. Both associations have the same name, and GORM
// keeps only one of them in its map, but both columns must be found.
func TestModelReferencesOfOneName(t *testing.T) {
	t.Parallel()
	got, err := sqlmigrate.ModelReferences(sqlite(t), &house{})
	want := []string{"houses.after_city_id -> cities.id", "houses.before_city_id -> cities.id"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("references %q, %v, want %q", got, err, want)
	}
}

// Inspect returns an error for each target or option that is not valid, before it reads
// the database.
func TestBadTargets(t *testing.T) {
	t.Parallel()
	const accepted = "want the name of a table or a GORM model"
	bad := snowflake.TwitterLayout()
	bad.Tick = time.Microsecond
	tests := []struct {
		name    string
		targets []any
		want    []string
	}{
		{"none", nil, []string{"sqlmigrate: no table to move: " + accepted}},
		{"options only", []any{sqlmigrate.WithLayout(snowflake.TwitterLayout())}, []string{"no table to move"}},
		{"nil", []any{"orders", nil}, []string{"sqlmigrate: target 2: nil: " + accepted}},
		{"number", []any{7}, []string{"sqlmigrate: target 1: int: ", accepted}},
		{"name", []any{"a..b"}, []string{`sqlmigrate: target 1: "a..b" is not the name of a table: want table or schema.table`}},
		{"all of them", []any{"a..b", 7}, []string{"target 1: ", "target 2: "}},
		{"layout", []any{"orders", sqlmigrate.WithLayout(bad)}, []string{"sqlmigrate: WithLayout: snowflake: layout's tick 1µs"}},
		{"reference", []any{"orders", sqlmigrate.WithReference("audit", "orders.id")}, []string{`sqlmigrate: WithReference("audit", "orders.id"): "audit" is not the name of a column`}},
		{"both references", []any{sqlmigrate.WithReference("audit", "orders")}, []string{`"audit" is not`, `"orders" is not`}},
		{"table of a model", []any{&misnamed{}}, []string{`sqlmigrate: target 1: *sqlmigrate_test.misnamed: its table is named "a.b.c": want table or schema.table`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := migratetest.Inspect(t.Context(), sqlite(t), test.targets...)
			migratetest.WantError(t, err, test.want...)
		})
	}
}

// Validate finds the same mistakes in targets and options as Inspect, without reading the
// database. So a table that does not exist is not a mistake.
func TestValidate(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	if err := sqlmigrate.Validate(db, []any{"nowhere", &elsewhere{}}, sqlmigrate.WithReference("no.where", "or.there")); err != nil {
		t.Errorf("good names: %v", err)
	}
	if err := sqlmigrate.Validate(db, nil); err != nil {
		t.Errorf("nothing: %v", err)
	}
	err := sqlmigrate.Validate(db, []any{"a..b", sqlmigrate.WithRecreateViews()}, nil, sqlmigrate.WithoutReference("audit"))
	migratetest.WantError(t, err, `sqlmigrate: target 1: "a..b" is not`, "sqlmigrate: target 2: it is an option: pass it to InspectWith",
		"sqlmigrate: option 1 is nil", `sqlmigrate: WithoutReference("audit"): `)
	migratetest.WantError(t, sqlmigrate.Validate(nil, nil), "db is nil")
}

// Inspect refuses a handle from which it cannot get a connection of its own.
func TestBadHandles(t *testing.T) {
	t.Parallel()
	dummy, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{ConnPool: sqlite(t).ConnPool})
	if err != nil {
		t.Fatal(err)
	}
	tx := sqlite(t).Begin()
	defer tx.Rollback()
	prepared := sqlite(t).Session(&gorm.Session{PrepareStmt: true}).Begin()
	defer prepared.Rollback()
	poolless := sqlite(t)
	config := *poolless.Config
	config.ConnPool = nil
	for _, test := range []struct {
		name string
		db   *gorm.DB
		want string
	}{
		{"nil", nil, "sqlmigrate: db is nil or was not opened"},
		{"zero", &gorm.DB{}, "sqlmigrate: db is nil or was not opened"},
		{"other dialect", dummy, `sqlmigrate: dialect "dummy" is not supported: want sqlite, mysql or postgres`},
		{"transaction", tx, "sqlmigrate: db is a transaction"},
		{"prepared transaction", prepared, "sqlmigrate: db is a transaction"},
		{"no pool", &gorm.DB{Config: &config}, "sqlmigrate: the pool of db is a <nil>: want a *sql.DB, a *sql.Conn"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := sqlmigrate.Inspect(t.Context(), test.db, "orders")
			migratetest.WantError(t, err, test.want)
		})
	}
}

// Apply uses the connection to which its handle is pinned, and does not close it. The
// pool has only this connection, so Apply would wait forever if it wanted another.
func TestPinnedConnection(t *testing.T) {
	t.Parallel()
	db := sqlite(t)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	apply := func(tx *gorm.DB) error { return handPlan(&sqlmigrate.FakeEngine{}).Apply(t.Context(), tx) }
	if err := db.Connection(apply); err != nil {
		t.Error(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, pool := range []gorm.ConnPool{conn, gorm.NewPreparedStmtDB(conn, 1, 0)} {
		config := *db.Config
		config.ConnPool = pool
		if err := apply(&gorm.DB{Config: &config}); err != nil {
			t.Errorf("opened on a %T: %v", pool, err)
		}
	}
	if err := conn.PingContext(t.Context()); err != nil {
		t.Errorf("the caller's connection was not left open: %v", err)
	}
}
