package gormflake_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"regexp"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/internal/test/plugintest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// These models have no tag. The key of the first two is the uint of gorm.Model. The tests
// list all three in WithModels.
type (
	plainUser struct {
		gorm.Model
		Name  string      `gorm:"size:50;uniqueIndex"`
		Posts []plainPost `gorm:"constraint:-"`
		Langs []plainLang `gorm:"many2many:plain_user_langs"`
	}
	plainPost struct {
		gorm.Model
		PlainUserID uint
		Title       string
	}
	plainLang struct {
		ID   uint
		Code string
	}
)

var plainUsers = []any{&plainUser{}, &plainPost{}, &plainLang{}}

// BeforeCreate is a hook of GORM. It clears the key of a user with the name cleared.
func (u *plainUser) BeforeCreate(*gorm.DB) error {
	if u.Name == "cleared" {
		u.ID = 0
	}
	return nil
}

// otherProgram returns a handle without the plugin on the same database.
func otherProgram(t *testing.T, db *gorm.DB) *gorm.DB {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	var dialector gorm.Dialector
	switch d := db.Dialector.(type) {
	case *sqlite.Dialector:
		dialector = sqlite.New(sqlite.Config{DriverName: d.DriverName, Conn: pool})
	case *mysql.Dialector:
		dialector = mysql.New(mysql.Config{Conn: pool})
	default:
		dialector = postgres.New(postgres.Config{Conn: pool})
	}
	other, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// jsSafe chooses a layout whose IDs JavaScript can read.
var jsSafe = gormflake.WithSnowflake(snowflake.WithLayout(snowflake.JSSafeLayout()))

// openUsers calls Open with WithModels(plainUsers...) and the layout of jsSafe.
func openUsers(t *testing.T, db *gorm.DB, opts ...gormflake.Option) error {
	t.Helper()
	gen, err := gormflake.Open(t.Context(), db, append(opts, quiet, jsSafe, gormflake.WithModels(plainUsers...))...)
	if err == nil {
		t.Cleanup(func() { _ = gen.Close(context.Background()) })
	}
	return err
}

var parkingSQL = regexp.MustCompile(`(?m)^(ALTER TABLE|INSERT INTO|UPDATE) .*$`)

// park runs the statements in an error of Open, which park the counters of tables. It
// fails if the error has too few statements for the number of tables.
func park(t *testing.T, db *gorm.DB, err error, tables int) {
	t.Helper()
	found := parkingSQL.FindAllString(fmt.Sprint(err), -1)
	// SQLite needs two statements for each table, and the other databases at least one.
	if statements := map[string]int{"sqlite": 2}[db.Name()] * tables; statements > 0 && len(found) != statements || len(found) < tables {
		t.Fatalf("err = %v, want statements for %d tables", err, tables)
	}
	for _, statement := range found {
		plugintest.Must(t, db.Exec(statement))
	}
}

// overwritten returns how many of 20 rows, which a program without the plugin inserts by
// other, are overwritten when db then writes with Save or creates nested rows. That
// happens if the generator's next key is the key that the database has just assigned.
func overwritten(t *testing.T, db, other *gorm.DB) (lost int) {
	t.Helper()
	owner := plainUser{Name: rand.Text()}
	plugintest.Must(t, db.Create(&owner))
	for range 10 {
		for _, write := range []func(){
			func() { db.Save(&[]plainPost{{Title: "ours"}, {Title: "ours"}}) },
			func() {
				db.Create(&plainUser{Name: rand.Text(), Posts: make([]plainPost, 2)})
			},
		} {
			plugintest.Must(t, db.Create(&plainPost{Title: "before"}))
			theirs := plainPost{PlainUserID: owner.ID, Title: "theirs"}
			if other.Create(&theirs).Error != nil {
				continue // the program gets an error
			}
			write()
			var row plainPost
			plugintest.Must(t, other.First(&row, theirs.ID))
			if row.Title != "theirs" || row.PlainUserID != owner.ID {
				lost++
			}
		}
	}
	return lost
}

// TestOpenRefusesCounters checks Open for tables in which the database still assigns keys.
// On SQLite, MySQL and MariaDB, the counter of such a table follows the largest key, so that
// the database would assign a key that the generator issues next. Open must then return an
// error and lease no worker. After the statements in the error have parked the counters,
// Open must succeed, and no row that a program without the plugin inserts may be
// overwritten. On PostgreSQL, where sequences do not follow the keys, Open succeeds at once.
func TestOpenRefusesCounters(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		other := otherProgram(t, db)
		plugintest.Migrate(t, other, plainUsers...)
		plugintest.Must(t, other.Create(&plainUser{Name: "old"}))
		err := openUsers(t, db)
		if db.Name() != "postgres" {
			for _, part := range []string{
				"gormflake: Open: the database still assigns keys (auto-increment) in plain_users (at 2), plain_posts (at 1), plain_langs (at 1): such a counter follows the largest key",
				"overwrites the other row. Park above all IDs until 21", ": gormflake migrate apply --park --layout js-safe --dsn URL 'plain_users' 'plain_posts' 'plain_langs', or",
				"WithUnparkedCounters makes this a warning",
			} {
				if err == nil || strings.Count(err.Error(), part) != 1 {
					t.Errorf("err = %v, want %q once", err, part)
				}
			}
			if db.Migrator().HasTable("snowflake_workers") {
				t.Error("a worker was leased")
			}
			park(t, db, err, len(plainUsers))
			err = openUsers(t, db)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := gormflake.Check(db, plainUsers...); err != nil {
			t.Errorf("Check: %v", err)
		}
		// A parked counter assigns keys from the upper half of the layout's 53 bits.
		theirs := plainPost{Title: "theirs"}
		plugintest.Must(t, other.Create(&theirs))
		if id := uint64(theirs.ID); id > 1<<52 != (db.Name() != "postgres") || id > 1<<53 {
			t.Errorf("the other program gets key %d", theirs.ID)
		}
		if n := overwritten(t, db, other); n > 0 {
			t.Errorf("%d of 20 rows of the other program were overwritten", n)
		}
		if err := gormflake.Check(db, plainUsers...); err != nil {
			t.Errorf("Check: %v", err)
		}
	})
}

// TestParkCommandOfALayout checks that the command in an error of Open has the flags of a
// layout that is not among the named layouts of the command. Without these flags, the command
// would take its default layout, and park the counter above the IDs of that layout.
func TestParkCommandOfALayout(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	plugintest.Migrate(t, otherProgram(t, db), plainUsers...)
	gen, err := gormflake.Open(t.Context(), db, quiet, gormflake.WithModels(plainUsers...), gormflake.WithSnowflake(snowflake.WithLayout(snowflake.DiscordLayout())))
	if err == nil {
		_ = gen.Close(context.Background())
	}
	const want = "migrate apply --park --epoch 2015-01-01T00:00:00Z --tick 1ms --datacenter-bits 5 --worker-bits 5 --sequence-bits 12 --total-bits 63 --dsn URL "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want it to have %q", err, want)
	}
}

type oddlyNamed struct{ ID uint }

func (oddlyNamed) TableName() string { return "50% of 'em" }

// TestOpenParksOddlyNamed checks that the statements park the counter of a table whose name
// has quotes and blanks. It parks an empty table too, because a table of SQLite has no row in
// sqlite_sequence before its first key, so that a statement must insert this row.
func TestOpenParksOddlyNamed(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.SQLite, testdb.MySQL, testdb.MariaDB}, func(t *testing.T, db *gorm.DB) {
		other := otherProgram(t, db)
		open := func() error {
			gen, err := gormflake.Open(t.Context(), db, quiet, jsSafe, gormflake.WithModels(&oddlyNamed{}))
			if err == nil {
				t.Cleanup(func() { _ = gen.Close(context.Background()) })
			}
			return err
		}
		for _, rows := range []int{0, 1} {
			if err := other.Migrator().DropTable(&oddlyNamed{}); err != nil {
				t.Fatal(err)
			}
			plugintest.Migrate(t, other, &oddlyNamed{})
			for range rows {
				plugintest.Must(t, other.Create(&oddlyNamed{}))
			}
			park(t, db, open(), 1)
		}
		if err := open(); err != nil {
			t.Error(err)
		}
	})
}

// TestWithModelsNewTables checks tables that AutoMigrate creates on a handle with the
// plugin. No database may assign keys in these tables. An insert of a program without the
// plugin, which sets no key, must therefore fail. The test tries 20 more such inserts between
// creates of the plugin, and if one succeeds, no create may overwrite its row. After a second
// AutoMigrate, Open must accept the tables.
func TestWithModelsNewTables(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := openUsers(t, db); err != nil {
			t.Fatal(err)
		}
		plugintest.Migrate(t, db, plainUsers...)
		plugintest.Migrate(t, db, plainUsers...)
		other := otherProgram(t, db)
		if err := other.Create(&plainPost{Title: "theirs"}).Error; err == nil {
			t.Error("the other program stored a row without a key")
		}
		if n := overwritten(t, db, other); n > 0 {
			t.Errorf("%d of 20 rows of the other program were overwritten", n)
		}
		if err := openUsers(t, otherProgram(t, db)); err != nil {
			t.Errorf("Open again: %v", err)
		}
	})
}

// TestOpenWarnsOfCounters checks that Open only logs a warning with WithUnparkedCounters.
// On SQLite it also checks that rows of the other program are then overwritten, as the
// warning says. If overwritten found no such row here, the tests that want none would
// prove nothing.
func TestOpenWarnsOfCounters(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.SQLite, testdb.MySQL, testdb.MariaDB}, func(t *testing.T, db *gorm.DB) {
		other := otherProgram(t, db)
		plugintest.Migrate(t, other, plainUsers...)
		var text bytes.Buffer
		db.Logger = logger.New(log.New(&text, "", 0), logger.Config{LogLevel: logger.Warn})
		if err := openUsers(t, db, gormflake.WithUnparkedCounters()); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"plain_users", "plain_posts", "plain_langs"} {
			if !strings.Contains(text.String(), table+" (at 1)") {
				t.Errorf("log = %s, want a warning of %s", text.String(), table)
			}
		}
		db.Logger = logger.Discard
		if err := gormflake.Check(db, plainUsers...); err != nil {
			t.Errorf("Check with the option: %v", err)
		}
		tests := otherProgram(t, db)
		if err := tests.Use(gormflake.New(gormflaketest.New(), gormflake.WithModels(plainUsers...), gormflake.WithUnparkedCounters())); err != nil {
			t.Fatal(err)
		}
		if err := gormflake.Check(tests, plainUsers...); err != nil {
			t.Errorf("Check of a plugin of New with the option: %v", err)
		}
		for range 20 { // the counter's next key is the generator's only within the same tick
			if overwritten(t, db, other) > 0 || db.Name() != "sqlite" {
				return
			}
		}
		t.Error("no row of the other program was overwritten: the tests of parked counters show nothing")
	})
}

type elsewhere struct{ ID uint }

func (elsewhere) TableName() string { return "absent.rows" }

// TestOpenCannotSeeCounters checks that Open fails, even with WithUnparkedCounters, if it
// cannot read a table, because the table may have a counter.
func TestOpenCannotSeeCounters(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]gormflake.Option{nil, {gormflake.WithUnparkedCounters()}} {
		db := testdb.Open(t, testdb.SQLite)
		_, err := gormflake.Open(t.Context(), db, append(opts, quiet, jsSafe, gormflake.WithModels(&elsewhere{}))...)
		plugintest.Wants(t, err, []string{"gormflake: check table absent.rows: "})
		if db.Migrator().HasTable("snowflake_workers") {
			t.Error("a worker was leased")
		}
	}
}

// TestOpenRefusesRowids checks that Open also rejects SQLite tables without
// AUTOINCREMENT, until they have the trigger of package sqlmigrate. It accepts a table
// WITHOUT ROWID, to whose rows SQLite assigns no keys.
func TestOpenRefusesRowids(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	plugintest.Must(t, db.Exec("CREATE TABLE plain_langs (id integer, code text, PRIMARY KEY (id))"))
	plugintest.Must(t, db.Exec("CREATE TABLE plain_posts (id integer PRIMARY KEY, title text) WITHOUT ROWID"))
	plugintest.Wants(t, openUsers(t, db), []string{"still assigns keys (auto-increment) in plain_langs (at 1): such", "Move with package sqlmigrate, since no statement parks it: plain_langs.", "WithUnparkedCounters"})
	// A renamed table keeps its trigger, which does not guard a new table of the former name.
	plugintest.Must(t, db.Exec("CREATE TABLE old_langs (id integer, code text, PRIMARY KEY (id))"))
	plugintest.Must(t, db.Exec("CREATE TRIGGER plain_langs_snowflake_guard BEFORE INSERT ON old_langs WHEN coalesce(NEW.id, 0) < 1 BEGIN SELECT RAISE(ABORT, 'no key'); END"))
	plugintest.Wants(t, openUsers(t, db), []string{"still assigns keys (auto-increment) in plain_langs (at 1): such"})
	plugintest.Must(t, db.Exec("DROP TRIGGER plain_langs_snowflake_guard"))
	plugintest.Must(t, db.Exec("CREATE TRIGGER plain_langs_snowflake_guard BEFORE INSERT ON plain_langs WHEN coalesce(NEW.id, 0) < 1 BEGIN SELECT RAISE(ABORT, 'no key'); END"))
	if err := openUsers(t, db); err != nil {
		t.Fatal(err)
	}
}

// These models describe a table in three releases of an application. On SQLite, GORM
// rebuilds the table to add the check of release2 and to drop the column Old in release3.
type (
	release1 struct {
		ID   uint
		Name string
		Old  string
	}
	release2 struct {
		ID   uint
		Name string `gorm:"check:named,name <> ''"`
		Old  string
	}
	release3 struct {
		ID   uint
		Name string `gorm:"check:named,name <> ''"`
	}
)

func (release1) TableName() string { return "releases" }
func (release2) TableName() string { return "releases" }
func (release3) TableName() string { return "releases" }

// TestReleases runs an application through releases, of which two rebuild the table on
// SQLite, while an old process still runs. It checks that each release starts, and that
// no row is overwritten. The last release starts twice, the second time on the rebuilt
// table.
func TestReleases(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.SQLite, testdb.SQLiteMattn, testdb.MySQL, testdb.MariaDB}, func(t *testing.T, db *gorm.DB) {
		old := otherProgram(t, db)
		plugintest.Migrate(t, old, &release1{})
		plugintest.Must(t, old.Create(&release1{Name: "old"}))
		open := func(db *gorm.DB, model any) error {
			gen, err := gormflake.Open(t.Context(), db, quiet, jsSafe, gormflake.WithModels(model))
			if err == nil {
				t.Cleanup(func() { _ = gen.Close(context.Background()) })
			}
			return err
		}
		first := otherProgram(t, db)
		park(t, first, open(first, &release1{}), 1)
		rows := int64(1)
		for name, model := range []any{&release1{}, &release2{}, &release3{}, &release3{}} {
			release := otherProgram(t, db)
			if err := open(release, model); err != nil {
				t.Fatalf("release %d is refused: %v", name, err)
			}
			plugintest.Migrate(t, release, model)
			if _, last := model.(*release3); last && release.Migrator().HasColumn(model, "old") {
				if err := release.Migrator().DropColumn(model, "old"); err != nil {
					t.Fatal(err)
				}
			}
			if err := gormflake.Check(release, model); err != nil {
				t.Errorf("release %d: Check: %v", name, err)
			}
			for range 20 {
				theirs := map[string]any{"name": "theirs"}
				plugintest.Must(t, old.Table("releases").Create(theirs))
				plugintest.Must(t, release.Table("releases").Model(model).Create(map[string]any{"name": "ours"}))
				plugintest.Must(t, release.Save(&[]release3{{Name: "ours"}}))
				rows += 3
			}
			var n int64
			if plugintest.Must(t, old.Table("releases").Count(&n)); n != rows {
				t.Fatalf("release %d: %d rows, want %d", name, n, rows)
			}
		}
	})
}

// TestRebuildKeepsTheCounter checks a SQLite table with a parked counter that GORM's
// migrator rebuilds, because the model gets a check and a column is dropped. The new table
// must have the parked counter. New has registered the plugin here, and Open in
// TestReleases.
func TestRebuildKeepsTheCounter(t *testing.T) {
	t.Parallel()
	testdb.EachOf(t, []testdb.Target{testdb.SQLite, testdb.SQLiteMattn}, func(t *testing.T, db *gorm.DB) {
		const parked = 5_000_000_000_000_000
		plugintest.Migrate(t, otherProgram(t, db), &release1{})
		plugintest.Must(t, db.Exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('releases', ?)", int64(parked)))
		plugintest.Use(t, db, gormflake.New(&plugintest.Counter{}))
		plugintest.Migrate(t, db, &release2{})
		if err := db.Migrator().DropColumn(&release2{}, "old"); err != nil {
			t.Fatal(err)
		}
		var counter int64
		if plugintest.Must(t, db.Raw("SELECT seq FROM sqlite_sequence WHERE name = 'releases'").Scan(&counter)); counter != parked {
			t.Errorf("the counter is %d, want %d", counter, int64(parked))
		}
	})
}

// TestNumbersNeedALayout checks models of WithModels whose keys are numbers in JSON. Open
// and Use must reject the default layout for such keys, because JavaScript rounds its IDs.
// They must accept the same layout if an option chooses it explicitly.
func TestNumbersNeedALayout(t *testing.T) {
	t.Parallel()
	type (
		number struct{ ID uint }
		text   struct {
			ID types.ID `gorm:"primaryKey;autoIncrement"`
		}
		tagged struct {
			ID types.ID `snowflake:"pk"`
		}
	)
	chosen := gormflake.WithSnowflake(snowflake.WithLayout(snowflake.TwitterLayout()))
	type (
		hidden struct {
			ID uint `json:"-"`
		}
		quoted struct {
			ID uint `json:"id,string"`
		}
		dash struct {
			ID uint `json:"-,"` //nolint:staticcheck // encoding/json takes it for the name -
		}
	)
	for _, test := range []struct {
		name    string
		refused bool
		opts    []gormflake.Option
	}{
		{"not in JSON", false, []gormflake.Option{gormflake.WithModels(&hidden{}, &quoted{})}},
		{"number", true, []gormflake.Option{gormflake.WithModels(&number{})}},
		{"number with the name -", true, []gormflake.Option{gormflake.WithModels(&dash{})}},
		{"number beside tagged", true, []gormflake.Option{gormflake.WithModels(&tagged{}, &number{})}},
		{"other option of the generator", true, []gormflake.Option{gormflake.WithModels(&number{}), gormflake.WithSnowflake(snowflake.WithLag(0))}},
		{"tagged", false, []gormflake.Option{gormflake.WithModels(&tagged{})}},
		{"text", false, []gormflake.Option{gormflake.WithModels(&text{})}},
		{"narrow layout", false, []gormflake.Option{gormflake.WithModels(&number{}, &tagged{}), jsSafe}},
		{"layout of choice", false, []gormflake.Option{gormflake.WithModels(&number{}), chosen}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, testdb.SQLite)
			gen, err := gormflake.Open(t.Context(), db, append(test.opts, quiet)...)
			if err == nil {
				defer gen.Close(context.Background())
			}
			refused := err != nil && strings.Contains(err.Error(), " of WithModels has a key that is a number in JSON") &&
				strings.Contains(err.Error(), "JSSafeLayout()") && strings.Contains(err.Error(), "choose it by snowflake.WithLayout(")
			if refused != test.refused || !refused && err != nil {
				t.Errorf("err = %v, want refused = %t", err, test.refused)
			}
			if err != nil && db.Migrator().HasTable("snowflake_workers") {
				t.Error("a worker was leased")
			}
		})
	}
	for name, test := range map[string]struct {
		refused bool
		opts    []snowflake.Option
	}{
		"New":                   {true, nil},
		"New, narrow layout":    {false, []snowflake.Option{snowflake.WithLayout(snowflake.JSSafeLayout())}},
		"New, layout of choice": {false, []snowflake.Option{snowflake.WithLayout(snowflake.TwitterLayout())}},
	} {
		t.Run(name, func(t *testing.T) { // not parallel, because the subtests share the worker
			gen, err := snowflake.New(snowflake.Static(0, 9), test.opts...)
			if err != nil {
				t.Fatal(err)
			}
			defer gen.Close(context.Background())
			err = testdb.Open(t, testdb.SQLite).Use(gormflake.New(gen, gormflake.WithModels(&number{})))
			refused := err != nil && strings.Contains(err.Error(), " of WithModels has a key that is a number in JSON") && strings.Contains(err.Error(), "give snowflake.New WithLayout(")
			if refused != test.refused || !refused && err != nil {
				t.Errorf("err = %v, want refused = %t", err, test.refused)
			}
		})
	}
}

// TestCheckParkedTaggedTable checks the error for a tagged key whose table has a parked
// counter. The error names the command that removes the counter.
func TestCheckParkedTaggedTable(t *testing.T) {
	t.Parallel()
	type parkedNote struct {
		ID types.ID `gorm:"primaryKey" snowflake:"pk"`
	}
	for target, ddl := range map[testdb.Target][]string{
		testdb.SQLite: {"CREATE TABLE parked_notes (id integer PRIMARY KEY AUTOINCREMENT, deleted_at datetime)", "INSERT INTO sqlite_sequence VALUES ('parked_notes', 9000000000000000000)"},
		testdb.MySQL:  {"CREATE TABLE parked_notes (id bigint PRIMARY KEY AUTO_INCREMENT, deleted_at datetime) AUTO_INCREMENT = 9000000000000000000"},
	} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			gen, err := gormflake.Open(t.Context(), db, quiet)
			if err != nil {
				t.Fatal(err)
			}
			defer gen.Close(context.Background())
			for _, statement := range ddl {
				plugintest.Must(t, db.Exec(statement))
			}
			plugintest.Wants(t, gormflake.Check(db, &parkedNote{}),
				[]string{"table parked_notes still assigns column id (auto-increment), and its counter, at 900000000000000000", "is parked: detach it when no old program runs: gormflake migrate apply --phases detach parked_notes"},
				[]string{"model parkedNote has no field for column deleted_at of table parked_notes, so that rows which are marked as deleted reappear: add DeletedAt gorm.DeletedAt"})
		})
	}
}

// TestCheckCounters checks that Check also reports the counters of tagged integers. It does
// not report that a sequence of PostgreSQL follows the largest key, because sequences do not.
// It reports a column GENERATED ALWAYS, into which PostgreSQL inserts no key of the plugin.
func TestCheckCounters(t *testing.T) {
	t.Parallel()
	plugintest.Each(t, func(t *testing.T, db *gorm.DB) {
		plugintest.Migrate(t, db, &autoKeyBook{})
		err := gormflake.Check(db, &autoKeyBook{})
		if counts := strings.Contains(err.Error(), "its counter, at 1, follows the largest key"); counts != (db.Name() != "postgres") {
			t.Errorf("Check: %v", err)
		}
	})
	t.Run("GENERATED ALWAYS", func(t *testing.T) {
		t.Parallel()
		db := testdb.Open(t, testdb.Postgres)
		plugintest.Must(t, db.Exec("CREATE TABLE plain_langs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, code text)"))
		if err := openUsers(t, db); err != nil {
			t.Fatal(err)
		}
		err := gormflake.Check(db, &plainLang{})
		plugintest.Wants(t, err, []string{"table plain_langs still assigns column id (auto-increment): move the table with package sqlmigrate"})
		plugintest.Must(t, db.Exec("ALTER TABLE plain_langs ALTER COLUMN id SET GENERATED BY DEFAULT"))
		if err := gormflake.Check(db, &plainLang{}); err != nil {
			t.Error(err)
		}
		plugintest.Must(t, db.Create(&plainLang{Code: "de"}))
	})
}

// TestWithModelsLikeTagged checks that models of WithModels support the same operations as
// tagged models. These are associations, Assign, CopySource, upserts, and the check of rows
// before the INSERT.
func TestWithModelsLikeTagged(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := openUsers(t, db); err != nil {
			t.Fatal(err)
		}
		plugintest.Migrate(t, db, plainUsers...)
		user := plainUser{Name: "a", Posts: make([]plainPost, 2), Langs: []plainLang{{Code: "de"}, {Code: "zh"}}}
		if err := gormflake.Assign(db, &user); err != nil || user.Posts[1].PlainUserID != user.ID || user.ID == 0 || user.Langs[1].ID == 0 {
			t.Fatalf("user = %+v, err = %v", user, err)
		}
		plugintest.Must(t, db.Create(&user))
		second := plainUser{Name: "b", Posts: make([]plainPost, 1), Langs: []plainLang{{Code: "fr"}}}
		plugintest.Must(t, db.Create(&second))
		var stored []plainUser
		plugintest.Must(t, db.Preload("Posts").Preload("Langs").Order("id").Find(&stored))
		if len(stored) != 2 || stored[0].ID != user.ID || len(stored[0].Posts) != 2 || len(stored[1].Langs) != 1 || stored[1].Posts[0].ID != second.Posts[0].ID {
			t.Errorf("rows = %+v", stored)
		}
		again := plainUser{Name: "a"}
		plugintest.Must(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"updated_at"})}).Create(&again))
		if again.ID != user.ID {
			t.Errorf("the upsert returned key %d, the row has %d", again.ID, user.ID)
		}
		err := db.Create(&plainUser{Name: "cleared"}).Error
		if want := plugintest.Unset("plainUser", "Model.ID", plugintest.ByHook); err == nil || err.Error() != want {
			t.Errorf("err = %v, want %s", err, want)
		}
		rows := []plainPost{{Title: "c"}, {Title: "d"}}
		source, err := gormflake.CopySource(db, rows)
		if err != nil || source.Columns()[0] != "id" || rows[1].ID == 0 {
			t.Errorf("columns %v, rows %+v, err = %v", source, rows, err)
		}
	})
}

// TestWithModelsJSON checks that keys are still numbers in JSON, and are exact if a
// program reads them as float64.
func TestWithModelsJSON(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	if err := openUsers(t, db); err != nil {
		t.Fatal(err)
	}
	plugintest.Migrate(t, db, plainUsers...)
	row, values := plainLang{Code: "de"}, map[string]any{"code": "fr"}
	plugintest.Must(t, db.Create(&row))
	plugintest.Must(t, db.Model(&plainLang{}).Create(values))
	for want, value := range map[types.ID]any{types.ID(row.ID): map[string]any{"id": row.ID}, types.ID(values["id"].(int64)): values} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		// A key below 1<<40 would not be the generator's, and would be exact in any case.
		var script struct{ ID float64 }
		if err := json.Unmarshal(text, &script); err != nil || types.ID(script.ID) != want || want < 1<<40 {
			t.Errorf("%s is %v in a script, want %d; err = %v", text, script.ID, want.Int64(), err)
		}
	}
}
