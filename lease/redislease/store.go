package redislease

import (
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/gormflake/gormflake/internal/option"
	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/internal/stores"
)

// New returns a store on the server that client is connected to. The caller closes the
// client, after the last generator that uses the store has been closed.
//
// New sends no request. The first call of the store reads the settings, and fails if
// the server evicts keys. Every call fails if the client is nil, an option is invalid,
// or the client is a [redis.Ring], which moves a key to an empty server when its own
// server is down.
func New(client redis.UniversalClient, opts ...Option) lease.Store {
	cfg := config{namespace: stores.DefaultNamespace, log: slog.Default()}
	err := option.Apply("redislease", opts, func(opt Option) error { return opt.apply(&cfg) })
	// An interface that holds a nil *redis.Client does not equal nil, so ask reflect.
	if value := reflect.ValueOf(client); client == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		err = errors.Join(err, errors.New("redislease: client is nil"))
	}
	if _, ok := client.(*redis.Ring); ok {
		err = errors.Join(err, errors.New("redislease: a redis.Ring forgets the workers of a server that is down: "+
			"want a client of one server, of sentinels or of a cluster"))
	}
	return &store{
		Server: stores.Server{Package: "redislease", Err: err},
		Turns:  stores.NewTurns(),
		client: client,
		key:    "gormflake:{" + cfg.namespace + "}", // the braces put the key into one slot of a cluster
		log:    cfg.log,
	}
}

// A store keeps the records of a namespace in one hash of Redis, in a field for each worker. It
// checks the server's settings before the first worker is leased, and again later, because a
// server with wrong settings forgets records.
type store struct {
	stores.Server
	stores.Turns
	client redis.UniversalClient
	key    string // of the hash
	log    *slog.Logger

	checkMu      sync.Mutex                // held while the settings are read
	lastCheck    atomic.Pointer[lastCheck] // nil if the settings were never read
	lastSettings sync.Map                  // the last settings, by the server's address, or "" outside clusters
}

// lastCheck is the time at which the settings were read, and the server that has answered.
type lastCheck struct {
	at     time.Time // zero if the settings are to be read again
	server string    // the run ID, a random number that a server chooses at its start
}

var (
	_ lease.Store   = (*store)(nil)
	_ lease.Clock   = (*store)(nil)
	_ lease.Getter  = (*store)(nil)
	_ lease.Queue   = (*store)(nil)
	_ lease.Checker = (*store)(nil)

	_ lease.Connector = (*store)(nil)
)
