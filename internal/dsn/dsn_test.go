package dsn_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"

	"github.com/gormflake/gormflake/internal/dsn"
)

// oddPasswords contain every character to which a layer gives a meaning.
var oddPasswords = []string{
	"secret",
	"p@ss",
	"a:b",
	"a/b",
	"a?b#c",
	"100%",
	"%41",
	"a b+c",
	"tcp(x)/y?z=1",
	`quote"'\`,
	"пароль",
	"timezone=UTC",
	"",
}

// withPassword returns a well-formed URL for a user with the given password.
func withPassword(scheme, password string) string {
	u := url.URL{
		Scheme: scheme, Host: "db.example:1234", Path: "/shop",
		User: url.UserPassword("app", password),
	}
	return u.String()
}

// TestMySQL checks the parts that the driver gets from a URL, with their defaults.
func TestMySQL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url                                  string
		user, password, network, address, database string
	}{
		{"all parts", "mysql://app:secret@db.example:3307/shop", "app", "secret", "tcp", "db.example:3307", "shop"},
		{"default port", "mysql://app@db.example/shop", "app", "", "tcp", "db.example:3306", "shop"},
		{"default host", "mysql://root@/shop", "root", "", "tcp", "127.0.0.1:3306", "shop"},
		{"no database", "mysql://root@db.example", "root", "", "tcp", "db.example:3306", ""},
		{"upper-case scheme", "MySQL://root@db.example/shop", "root", "", "tcp", "db.example:3306", "shop"},
		{"IPv6", "mysql://root@[::1]:3307/shop", "root", "", "tcp", "[::1]:3307", "shop"},
		{"socket", "mysql://app:secret@/shop?socket=/run/mysqld/mysqld.sock", "app", "secret", "unix", "/run/mysqld/mysqld.sock", "shop"},
		{"escaped user", "mysql://a%40b:x@db.example/shop", "a@b", "x", "tcp", "db.example:3306", "shop"},
		{"escaped database", "mysql://app@db.example/a%2Fb%3Fc", "app", "", "tcp", "db.example:3306", "a/b?c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := openMySQL(t, test.url).DSNConfig
			got := []string{config.User, config.Passwd, config.Net, config.Addr, config.DBName}
			want := []string{test.user, test.password, test.network, test.address, test.database}
			if strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("Open(%q) = %q, want %q", test.url, got, want)
			}
		})
	}
}

// TestMySQLParameters checks that parameters of the URL reach the driver, and that
// parseTime is true unless the URL sets it.
func TestMySQLParameters(t *testing.T) {
	t.Parallel()
	config := openMySQL(t, "mysql://root@db.example/shop?charset=latin1&sql_mode=ANSI&timeout=3s").DSNConfig
	if !config.ParseTime {
		t.Error("ParseTime = false, want true by default")
	}
	if got, want := config.Params["sql_mode"], "ANSI"; got != want {
		t.Errorf("sql_mode = %q, want %q", got, want)
	}
	if got, want := config.Timeout.String(), "3s"; got != want {
		t.Errorf("timeout = %s, want %s", got, want)
	}
	if config := openMySQL(t, "mysql://root@db.example/shop?parseTime=false").DSNConfig; config.ParseTime {
		t.Error("ParseTime = true, want the URL's false")
	}
}

// TestPostgres checks that a URL reaches pgx unchanged, with each scheme and with several
// hosts.
func TestPostgres(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"postgres", "postgresql", "POSTGRES"} {
		config := openPostgres(t, scheme+"://app:secret@db.example:5433/shop?sslmode=disable&search_path=a")
		if config.Host != "db.example" || config.Port != 5433 || config.User != "app" ||
			config.Password != "secret" || config.Database != "shop" || config.RuntimeParams["search_path"] != "a" {
			t.Errorf("%s: got %s@%s:%d/%s %v", scheme, config.User, config.Host, config.Port, config.Database, config.RuntimeParams)
		}
	}
	config := openPostgres(t, "postgres://app@one:5433,two:5434/shop")
	if len(config.Fallbacks) == 0 {
		t.Error("two hosts: got no fallback")
	}
}

// TestPasswordsArriveWhole checks that the driver gets each password unchanged, if the
// URL escapes it.
func TestPasswordsArriveWhole(t *testing.T) {
	t.Parallel()
	for _, password := range oddPasswords {
		if got := openMySQL(t, withPassword("mysql", password)).DSNConfig.Passwd; got != password {
			t.Errorf("mysql: password = %q, want %q", got, password)
		}
		if password == "" {
			continue // pgx then looks for a password in its environment
		}
		if got := openPostgres(t, withPassword("postgres", password)).Password; got != password {
			t.Errorf("postgres: password = %q, want %q", got, password)
		}
	}
}

// TestErrors checks the errors for wrong URLs. No error may contain a part of the password,
// which is hunter2, or is made of hun, ter2 or 12 and a character that is not escaped.
func TestErrors(t *testing.T) {
	t.Parallel()
	const (
		forms     = "want sqlite://PATH, mysql://user:password@host:3306/database or postgres://user:password@host:5432/database"
		unescaped = "dsn: unescaped character in user name, password or parameters: " +
			"percent-encode @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25: want "
		badPort  = "dsn: port is not a number, or @ and the host are missing: want "
		mysql    = "mysql://user:password@host:3306/database"
		postgres = "postgres://user:password@host:5432/database"
	)
	tests := []struct{ name, url, want string }{
		{"empty", "", "dsn: not a database URL: " + forms},
		{"no scheme", "app.db", "dsn: not a database URL: " + forms},
		{"driver's own form", "root:hunter2@tcp(127.0.0.1:3306)/shop", "dsn: not a database URL: " + forms},
		{"password before scheme", "root:hunter2@tcp://127.0.0.1/shop", "dsn: not a database URL: " + forms},
		{"empty scheme", "://x", "dsn: not a database URL: " + forms},
		{"unknown scheme", "oracle://app:hunter2@db.example/shop", `dsn: unknown scheme "oracle": ` + forms},
		{"sqlite without path", "sqlite://", "dsn: sqlite path is empty: want sqlite://:memory: or sqlite://PATH"},
		{"sqlite bad escape", "sqlite://100%.db", `dsn: sqlite path: invalid URL escape "%.d": write % as %25`},
		{"sqlite bad parameter", "sqlite://a.db?x=%zz", `dsn: sqlite parameters: invalid URL escape "%zz"`},
		{"mysql slash in password", "mysql://app:hun/ter2@db.example/shop", unescaped + mysql},
		{"mysql digits and slash", "mysql://app:12/hunter2@db.example/shop", unescaped + mysql},
		{"mysql question mark", "mysql://app:12?hunter2@db.example/shop", unescaped + mysql},
		{"mysql hash", "mysql://app:12#hunter2@db.example/shop", unescaped + mysql},
		{"mysql at sign", "mysql://app:hun@ter2@db.example/shop", unescaped + mysql},
		{"mysql percent", "mysql://app:hunter2%zz@db.example/shop", unescaped + mysql},
		{"mysql host forgotten", "mysql://app:hunter2/shop", badPort + mysql},
		{"mysql bad port", "mysql://app:hunter2@db.example:port/shop", badPort + mysql},
		{"mysql bad host", "mysql://app:hunter2@[::1]x/shop", "dsn: mysql URL does not parse: want " + mysql},
		{"mysql bad parameter", "mysql://app:hunter2@db.example/shop?parseTime=maybe", "dsn: mysql parameters: invalid bool value: maybe"},
		{"mysql bad query", "mysql://app:hunter2@db.example/shop?x=%zz", `dsn: mysql parameters: invalid URL escape "%zz"`},
		{"mysql host and socket", "mysql://app:hunter2@db.example/shop?socket=/run/s", "dsn: mysql: host and socket are both given: want one of them"},
		{
			"mysql colon in user", "mysql://a%3Ab:hunter2@db.example/shop",
			"dsn: mysql: user, host or database has a form that the driver cannot express: " +
				"want a user name without colon, and no password without a user name",
		},
		{
			"mysql password without user", "mysql://:hunter2@db.example/shop",
			"dsn: mysql: user, host or database has a form that the driver cannot express: " +
				"want a user name without colon, and no password without a user name",
		},
		{"postgres slash in password", "postgres://app:hun/ter2@db.example/shop", unescaped + postgres},
		{"postgres host forgotten", "postgres://app:hunter2/shop", badPort + postgres},
		{"postgres percent", "postgres://app:hunter2%zz@db.example/shop", unescaped + postgres},
		{"postgres no host", "postgres://app:0,hunter2", "dsn: postgres URL does not parse: want " + postgres},
		{
			"postgres bad parameter", "postgres://app:hunter2@db.example/shop?sslmode=never",
			"dsn: postgres parameters: sslmode is invalid",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dialector, err := dsn.Open(test.url)
			if err == nil {
				t.Fatalf("Open(%q) = nil error, want %q", test.url, test.want)
			}
			if dialector != nil {
				t.Errorf("Open(%q) returned a dialector with its error", test.url)
			}
			if got := err.Error(); got != test.want {
				t.Errorf("Open(%q):\n got %s\nwant %s", test.url, got, test.want)
			}
			for _, part := range []string{"hun", "ter2", "12"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("Open(%q) echoes the password: %v", test.url, err)
				}
			}
		})
	}
}

// openMySQL returns the dialector for a URL. It fails if the dialector's DSN and its
// DSNConfig describe different configurations.
func openMySQL(t *testing.T, url string) *mysql.Dialector {
	t.Helper()
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatalf("Open(%q): %v", url, err)
	}
	d := dialector.(*mysql.Dialector)
	if got, want := d.DSN, d.DSNConfig.FormatDSN(); got != want {
		t.Errorf("Open(%q).DSN = %q, want its DSNConfig's %q", url, got, want)
	}
	return d
}

// openPostgres reads the dialector's URL as GORM's driver does.
func openPostgres(t *testing.T, url string) *pgx.ConnConfig {
	t.Helper()
	dialector, err := dsn.Open(url)
	if err != nil {
		t.Fatalf("Open(%q): %v", url, err)
	}
	config, err := pgx.ParseConfig(dialector.(*postgres.Dialector).DSN)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
