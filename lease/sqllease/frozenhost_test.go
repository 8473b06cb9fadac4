package sqllease_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// The first host of the DSN is frozen: it accepts connections and never answers. Each
// attempt to connect begins with it, so that without connect_timeout no attempt reaches
// the second host. The package's documentation therefore asks for connect_timeout.
func TestFrozenFirstHost(t *testing.T) {
	t.Parallel()
	url := testdb.PostgresURL(t, testdb.Open(t, testdb.Postgres))
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { frozen.Close() })
	url = strings.Replace(url, "@", "@"+frozen.Addr().String()+",", 1)
	for _, test := range []struct {
		name, parameters string
		connects         bool
	}{
		{"with connect_timeout", "&target_session_attrs=read-write&connect_timeout=1", true},
		{"without", "&target_session_attrs=read-write", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db, err := gorm.Open(postgres.Open(url+test.parameters), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { poolOf(t, db).Close() })
			store := newStore(db).(lease.Connector)
			_, release, err := store.Connect(within(t, 4*time.Second))
			if connects := err == nil; connects != test.connects {
				t.Fatalf("Connect: %v, want a connection: %v", err, test.connects)
			}
			if release != nil {
				release()
			}
		})
	}
}
