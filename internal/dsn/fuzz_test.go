package dsn_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/dsn"
)

// FuzzOpen checks that any text results in a dialector or an error of this package.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		"", "app.db", "://", "sqlite://app.db", "sqlite:///tmp/a.db?_pragma=busy_timeout(1)",
		"sqlite://:memory:", "mysql://root@127.0.0.1:3306/test", "mysql://root@/test?socket=/run/s",
		"postgres://app:secret@one,two/test?sslmode=disable", "postgresql://[::1]:5432/",
		"root:secret@tcp(127.0.0.1:3306)/test", "mysql://a:b/c@d/e", "mysql://[", "postgres://a:%zz@b/c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		dialector, err := dsn.Open(url)
		if (dialector == nil) == (err == nil) {
			t.Fatalf("Open(%q) = %v, %v, want one of the two", url, dialector, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "dsn: ") {
			t.Errorf("Open(%q): error without prefix: %v", url, err)
		}
	})
}

// FuzzPassword checks that an escaped password is passed on completely. An unescaped
// password, which its characters may split anywhere, must not appear in an error.
func FuzzPassword(f *testing.F) {
	for _, password := range oddPasswords {
		f.Add(password)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if got := openMySQL(t, withPassword("mysql", password)).DSNConfig.Passwd; got != password {
			t.Errorf("mysql: password = %q, want %q", got, password)
		}
		if password != "" && !strings.Contains(password, "\x00") {
			if got := openPostgres(t, withPassword("postgres", password)).Password; got != password {
				t.Errorf("postgres: password = %q, want %q", got, password)
			}
		}
		if strings.Contains(password, "?") {
			return // in a URL without a host, text after ? is a parameter, which errors may quote
		}
		const marker = "XsecretX"
		for _, raw := range []string{marker + password, password + marker} {
			for _, form := range []string{"mysql://app:%@db/shop", "postgres://app:%@db/shop", "mysql://app:%", "postgres://app:%", "app:%@tcp(db)/shop"} {
				noEcho(t, strings.Replace(form, "%", raw, 1), marker)
			}
		}
	})
}

// noEcho checks that an error for the URL given does not contain marker, a part of its
// password.
func noEcho(t *testing.T, given, marker string) {
	t.Helper()
	if _, err := dsn.Open(given); err != nil && strings.Contains(err.Error(), marker) {
		t.Errorf("Open(%s) echoes the password: %v", url.QueryEscape(given), err)
	}
}
