// Package leasestore opens stores of leases that are not databases. A lease is the right
// of one process to issue IDs under a worker ID. The forms of a URL are:
//
//	redis://user:password@host:6379/0                           one server; rediss:// is with TLS
//	redis://host:26379/0?addr=host:26379&master_name=mymaster   sentinels
//	redis://host:6379?addr=host:6379                            nodes of a cluster
//	etcd://user:password@host:2379,host:2379                    members of a cluster
//	etcds://host:2379?ca=FILE&cert=FILE&key=FILE                with TLS, each file optional
//	zookeeper://user:password@host:2181,host:2181               members of an ensemble
//	zookeeper://host:2181?forceSync=yes                         no member has forceSync=no
//
// Redis URLs accept the parameters of go-redis. The commands gen, serve, doctor and
// workers call [Open].
package leasestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/gormflake/gormflake/lease"
	"github.com/gormflake/gormflake/lease/etcdlease"
	"github.com/gormflake/gormflake/lease/redislease"
	"github.com/gormflake/gormflake/lease/zklease"
)

// Forms lists the forms of URLs, for help texts and errors.
const Forms = "redis://host:6379/0, etcd://host:2379 or zookeeper://host:2181"

// answerTimeout limits how long servers may take to answer the first request.
const answerTimeout = 10 * time.Second

// A Store is a connected store of leases. The caller calls Close, which ends the connection.
type Store struct {
	lease.Store
	Close func() error
}

// openers are the functions that open a store, by the scheme of its URL. a is the parsed URL.
var openers = map[string]func(ctx context.Context, a address, namespace string, log *slog.Logger) (*Store, error){
	"redis":     openRedis,
	"rediss":    openRedis,
	"etcd":      openEtcd,
	"etcds":     openEtcd,
	"zookeeper": openZooKeeper,
}

// Is reports whether the URL is for a store that this package opens, such as
// redis://host:6379/0. It is false for the URL of a database, and for a text without "://".
func Is(rawURL string) bool {
	scheme, _, found := strings.Cut(rawURL, "://")
	_, known := openers[strings.ToLower(scheme)]
	return found && known
}

// Open connects to the store. It returns an error if the store does not answer within ten
// seconds. namespace separates the workers of applications that share the store. The store
// logs warnings to log, for example about settings under which the servers may lose writes.
// Errors do not contain the password.
func Open(ctx context.Context, rawURL, namespace string, log *slog.Logger) (*Store, error) {
	a, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	open, known := openers[a.Scheme]
	if !known {
		return nil, fmt.Errorf("unknown scheme %q: want %s", a.Scheme, Forms)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %v", answerTimeout))
	defer cancel()
	store, err := open(ctx, a, namespace, log)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", a.Scheme, strings.Join(a.hosts, ","), err)
	}
	return store, nil
}

// An address is a URL that may have several hosts, such as etcd://a:2379,b:2379, which
// package net/url does not support. The embedded URL has only the first host.
type address struct {
	*url.URL
	hosts []string // all hosts, each with its port if the URL has one
}

// errForm is the error for a malformed URL. It does not quote the URL, which may contain a
// password.
var errForm = errors.New("not a URL of a store: want " + Forms +
	", with @ : / ? # and % of names and passwords percent-encoded")

// parse returns the address of a URL. It cuts the list of hosts out of the URL, so that
// package net/url parses a URL with the first host only. For example, for
// etcds://user:password@a:2379,b:2379?ca=FILE it parses etcds://user:password@a:2379?ca=FILE,
// and sets hosts to a:2379 and b:2379.
func parse(rawURL string) (address, error) {
	scheme, rest, found := strings.Cut(rawURL, "://")
	authorityEnd := strings.IndexAny(rest, "/?#")
	if authorityEnd < 0 {
		authorityEnd = len(rest)
	}
	authority, tail := rest[:authorityEnd], rest[authorityEnd:]
	hostsStart := strings.LastIndexByte(authority, '@') + 1 // 0 if there is no user
	hosts := strings.Split(authority[hostsStart:], ",")
	u, err := url.Parse(scheme + "://" + authority[:hostsStart] + hosts[0] + tail)
	// A password with a / ? or # that is not percent-encoded ends the authority too early. The
	// tail then contains the @ behind the password, or the #. The error of the parser is not
	// returned, because it may contain the password.
	if !found || err != nil || strings.ContainsAny(tail, "@#") {
		return address{}, errForm
	}
	a := address{URL: u, hosts: hosts}
	for _, host := range hosts {
		if host == "" || strings.HasPrefix(host, ":") { // a port alone, such as :2379
			return a, fmt.Errorf("%s: a host is missing: want %s", a.Scheme, Forms)
		}
	}
	return a, nil
}

// withPort returns all hosts of the address, with the default port behind each host that
// has no port.
func (a address) withPort(port string) []string {
	var all []string
	for _, host := range a.hosts {
		if u := (url.URL{Host: host}); u.Port() == "" {
			host += ":" + port
		}
		all = append(all, host)
	}
	return all
}

// allowOnly returns an error if the URL has a path, or a parameter that is not in
// parameters. Otherwise a misspelled parameter would be ignored silently.
func (a address) allowOnly(parameters ...string) error {
	if strings.Trim(a.Path, "/") != "" {
		return fmt.Errorf("path %q: want none: records are kept under gormflake, apart by namespace", a.Path)
	}
	query := a.Query()
	for _, name := range parameters {
		query.Del(name)
	}
	for name := range query { // a parameter that is left in query is not allowed
		return fmt.Errorf("unknown parameter %q: want %s", name, cmp.Or(strings.Join(parameters, ", "), "none"))
	}
	return nil
}

// openEtcd connects to etcd. It needs no logger, because etcd has no settings of which the
// store warns.
func openEtcd(ctx context.Context, a address, namespace string, _ *slog.Logger) (*Store, error) {
	config, err := etcdConfig(a)
	if err != nil {
		return nil, err
	}
	config.Logger = zap.NewNop() // a client without a logger writes to standard error
	client, err := clientv3.New(*config)
	if err != nil {
		return nil, err
	}
	if err := checkEtcd(ctx, client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Store{etcdlease.New(client, etcdlease.WithNamespace(namespace)), client.Close}, nil
}

// etcdConfig returns the configuration of the client. With the scheme etcds, the client
// uses TLS, and the parameters ca, cert and key may name its files. With the scheme etcd,
// any parameter is an error.
func etcdConfig(a address) (*clientv3.Config, error) {
	var parameters []string
	spec := clientv3.ConfigSpec{Endpoints: a.withPort("2379"), DialTimeout: answerTimeout, Auth: &clientv3.AuthConfig{Username: a.User.Username()}}
	spec.Auth.Password, _ = a.User.Password()
	if query := a.Query(); a.Scheme == "etcds" {
		parameters = []string{"ca", "cert", "key"}
		spec.Secure = &clientv3.SecureConfig{Cacert: query.Get("ca"), Cert: query.Get("cert"), Key: query.Get("key")}
		if (spec.Secure.Cert == "") != (spec.Secure.Key == "") {
			return nil, errors.New("want cert and key together")
		}
	}
	if err := a.allowOnly(parameters...); err != nil {
		return nil, err
	}
	return clientv3.NewClientConfig(&spec, zap.NewNop())
}

// checkEtcd reads a key, and returns an error if the cluster does not answer, because
// clientv3.New may return before it has reached a member. Like a read of the records, a read
// of any key succeeds only if a majority of the members answers. The key need not exist.
func checkEtcd(ctx context.Context, client *clientv3.Client) error {
	if _, err := client.Get(ctx, "gormflake/"); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // for example "no answer within 10s"
		}
		return fmt.Errorf("ask the cluster: %w", err)
	}
	return nil
}

// quietRedis stops go-redis from writing a line to standard error for each failed dial.
// Only the first call has an effect, because SetLogger writes a global variable of package
// redis without a lock, and the goroutines of an open client read this variable.
var quietRedis = sync.OnceFunc(func() { redis.SetLogger(quietLogger{}) })

// openRedis connects to a server, sentinels or a cluster, and waits for an answer.
func openRedis(ctx context.Context, a address, namespace string, log *slog.Logger) (*Store, error) {
	if len(a.hosts) > 1 {
		return nil, errors.New("several hosts: want one, and the others as addr=host:port, with master_name for sentinels")
	}
	quietRedis()
	client, err := redisClient(a)
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &Store{redislease.New(client, redislease.WithNamespace(namespace), redislease.WithLogger(log)), client.Close}, nil
}

// quietLogger is a logger of go-redis that discards everything.
type quietLogger struct{}

func (quietLogger) Printf(context.Context, string, ...any) {}

// redisClient returns a client for sentinels, for a cluster or for a single server, as the
// parameters of the URL demand. master_name is the name under which sentinels know the
// server, and addr is another node of a cluster, or another sentinel.
func redisClient(a address) (redis.UniversalClient, error) {
	switch query := a.Query(); {
	case query.Has("master_name"):
		return newRedis(redis.NewFailoverClient, redis.ParseFailoverURL, a)
	case query.Has("addr"):
		return newRedis(redis.NewClusterClient, redis.ParseClusterURL, a)
	}
	return newRedis(redis.NewClient, redis.ParseURL, a)
}

// newRedis parses the URL into the options O of a client, and returns the client. open and
// parse are the functions of go-redis for one kind of client, for example redis.NewClient
// and redis.ParseURL.
func newRedis[O any, C redis.UniversalClient](open func(O) C, parse func(string) (O, error), a address) (redis.UniversalClient, error) {
	options, err := parse(a.String())
	if err != nil {
		return nil, err
	}
	return open(options), nil
}

const (
	// sessionTimeout is how long ZooKeeper keeps the session of a client that has
	// stopped sending.
	sessionTimeout = 10 * time.Second

	// forceSync is the parameter with which a user states that no server has the setting
	// forceSync=no. A server with this setting may forget acknowledged writes when its
	// machine dies. A client cannot read the setting from ZooKeeper.
	forceSync = "forceSync"
)

// openZooKeeper connects to an ensemble, and waits for a session. With forceSync=yes in the
// URL, the store does not warn that a server may have forceSync=no.
func openZooKeeper(ctx context.Context, a address, namespace string, logger *slog.Logger) (*Store, error) {
	if err := a.allowOnly(forceSync); err != nil {
		return nil, err
	}
	options := []zklease.Option{zklease.WithNamespace(namespace), zklease.WithLogger(logger)}
	if value := a.Query().Get(forceSync); value == "yes" {
		options = append(options, zklease.WithForceSync())
	} else if value != "" {
		return nil, fmt.Errorf("%s=%s: want yes, if no server has forceSync=no", forceSync, value)
	}
	// Without a logger of its own, the client writes to standard error.
	conn, events, err := zk.Connect(a.withPort("2181"), sessionTimeout, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		return nil, err
	}
	if err := awaitSession(ctx, conn, events, a); err != nil {
		conn.Close()
		return nil, err
	}
	closeConn := func() error { conn.Close(); return nil }
	return &Store{zklease.New(conn, options...), closeConn}, nil
}

// awaitSession waits until the client, which connects in the background, has a session. It
// then authenticates the session if the URL has a password. Each event is a change of the
// connection's state.
func awaitSession(ctx context.Context, conn *zk.Conn, events <-chan zk.Event, a address) error {
	for conn.State() != zk.StateHasSession {
		select {
		case <-events:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if password, ok := a.User.Password(); ok {
		return conn.AddAuth("digest", []byte(a.User.Username()+":"+password))
	}
	return nil
}
