package testserver

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// engines are all engines, in the order in which messages list them.
var engines = []*Engine{mariadb, mysql, postgres, redis, valkey, etcd, zookeeper, pgbouncer, galera, patroni, haproxy, tidb}

// postgres is the engine of PostgreSQL.
var postgres = &Engine{
	service:    "postgres",
	title:      "PostgreSQL",
	pkg:        "postgresql",
	url:        "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
	stopSignal: syscall.SIGINT, // a fast shutdown, which does not wait for clients to leave
	Account:    "postgres",
	find: func() (string, error) {
		path, err := inPath("postgres")
		if err == nil {
			return filepath.EvalSymlinks(path) // the other programs are next to it
		}
		if paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(paths) > 0 {
			return newest(paths), nil
		}
		return "", err
	},
	SetUp: func(s *Server) error {
		return s.Run(s.sibling("initdb"), "--no-sync", "--auth=trust", "--username=postgres",
			"--encoding=UTF8", "--locale=C", "--pgdata="+s.Data())
	},
	Args: func(s *Server) []string {
		args := []string{"-D", s.Data(), "-p", strconv.Itoa(s.port)}
		settings := []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"}
		for _, setting := range append(settings, s.settings...) {
			args = append(args, "-c", setting)
		}
		return args
	},
	Answers: func(s *Server) error {
		return s.Run(s.sibling("pg_isready"), "--quiet", "--host=127.0.0.1", "--port="+strconv.Itoa(s.port))
	},
	client: func(s *Server, statement string) (string, []string) {
		return s.sibling("psql"), []string{
			"--no-psqlrc", "--host=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--username=postgres",
			"--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--command=" + statement, "postgres",
		}
	},
}

// mariadb is the engine of MariaDB.
var mariadb = &Engine{
	service:    "mariadb",
	title:      "MariaDB",
	pkg:        "mariadb-server",
	url:        "mysql://root@127.0.0.1:%d/test",
	stopSignal: syscall.SIGTERM,
	find: func() (string, error) {
		if _, err := inPath("mariadb-install-db"); err != nil {
			return "", err
		}
		return inPath("mariadbd")
	},
	SetUp: func(s *Server) error {
		install, err := inPath("mariadb-install-db")
		if err != nil {
			return err
		}
		return s.Run(install, append(mariadbArgs(s), "--auth-root-authentication-method=normal",
			"--skip-name-resolve")...)
	},
	Args: func(s *Server) []string {
		args := append(mariadbArgs(s), "--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1",
			"--socket="+s.File("socket"), "--pid-file="+s.File("pid"), "--skip-name-resolve",
			"--innodb-buffer-pool-size=16M")
		for _, setting := range s.settings {
			args = append(args, "--"+setting)
		}
		return args
	},
	Answers: greets,
	client:  mariadbClient,
}

// greets returns nil if a MariaDB or MySQL server greets a new connection.
func greets(s *Server) error {
	const protocolVersion = 10 // begins a greeting, after four bytes of length and number; an error begins otherwise
	greeting, err := ask(s, "", 5)
	if err == nil && greeting[4] != protocolVersion {
		return ErrNotReady
	}
	return err
}

// mariadbClient returns the client of Debian's package mariadb-client, which also works
// with MySQL.
func mariadbClient(s *Server, statement string) (string, []string) {
	return "mariadb", []string{
		"--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port=" + strconv.Itoa(s.port),
		"--user=root", "--connect-timeout=1", "--batch", "--skip-column-names", "--execute=" + statement,
	}
}

// mariadbArgs returns the arguments with which MariaDB both creates and serves its data.
func mariadbArgs(s *Server) []string {
	args := []string{"--no-defaults", "--datadir=" + s.Data(), "--tmpdir=" + s.dir, "--innodb-log-file-size=8M"}
	return append(args, asRoot(s)...)
}

// The variables name programs that Debian's stable release does not contain.
const (
	mysqldVariable = "GORMFLAKE_TEST_MYSQLD"
	tidbVariable   = "GORMFLAKE_TEST_TIDB"
)

// mysql is the engine of MySQL. Its program is named by mysqldVariable, or is in PATH.
var mysql = &Engine{
	service:    "mysql",
	title:      "MySQL",
	getCommand: "export " + mysqldVariable + "=$(.ci/mysqld FOLDER)",
	url:        "mysql://root@127.0.0.1:%d/test",
	stopSignal: syscall.SIGTERM,
	find:       findMySQL,
	SetUp: func(s *Server) error {
		statements := s.File("init.sql")
		if err := os.WriteFile(statements, []byte("CREATE DATABASE test;\n"), 0o600); err != nil {
			return err
		}
		return s.RunProgram(append(mysqlArgs(s), "--initialize-insecure", "--init-file="+statements)...)
	},
	Args: func(s *Server) []string {
		args := append(mysqlArgs(s), "--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1",
			"--socket="+s.File("socket"), "--pid-file="+s.File("pid"), "--mysqlx=OFF", "--performance-schema=OFF")
		for _, setting := range s.settings {
			args = append(args, "--"+setting)
		}
		return args
	},
	Answers: greets,
	client:  mariadbClient,
}

// findMySQL returns the program mysqld. It rejects MariaDB's program of the same name.
func findMySQL() (string, error) {
	program, err := inPath(cmp.Or(os.Getenv(mysqldVariable), "mysqld"))
	if err != nil {
		return "", err
	}
	version, err := exec.Command(program, "--version").Output()
	if err == nil && bytes.Contains(version, []byte("MariaDB")) {
		err = fmt.Errorf("%s is MariaDB", program)
	}
	return program, err
}

// mysqlArgs returns the arguments with which MySQL both creates and serves its data.
func mysqlArgs(s *Server) []string {
	args := []string{
		"--no-defaults", "--datadir=" + s.Data(), "--tmpdir=" + s.dir, "--secure-file-priv=",
		"--innodb-buffer-pool-size=16M", "--innodb-redo-log-capacity=8M",
	}
	return append(args, asRoot(s)...)
}

// tidb runs its storage in its own process. It deletes the data in a folder that is named
// tidb-unistore-temp.
var tidb = &Engine{
	service:    "tidb",
	title:      "TiDB",
	getCommand: "make tidb",
	url:        "mysql://root@127.0.0.1:%d/test",
	stopSignal: syscall.SIGTERM,
	find:       func() (string, error) { return inPath(os.Getenv(tidbVariable)) },
	SetUp:      (*Server).makeData,
	Args: func(s *Server) []string {
		return append([]string{
			"-store=unistore", "-path=" + s.Data(), "-host=127.0.0.1", "-P=" + strconv.Itoa(s.port),
			"-report-status=false", "-socket=", "-temp-dir=" + s.File("tmp"), "-L=warn",
		}, s.settings...)
	},
	Answers: greets,
	client:  mariadbClient,
}

// asRoot returns the argument without which MariaDB and MySQL do not run as root.
func asRoot(s *Server) []string {
	if os.Geteuid() == 0 && s.engine.Account == "" {
		return []string{"--user=root"}
	}
	return nil
}

var (
	redis  = redisEngine("redis", "Redis", "redis-server")
	valkey = redisEngine("valkey", "Valkey", "valkey-server")
)

// redisEngine returns the engine of Redis or a server that is derived from it. program is
// also the name of the Debian package.
func redisEngine(service, title, program string) *Engine {
	return &Engine{
		service:    service,
		title:      title,
		version:    []string{"--version"},
		pkg:        program,
		url:        "redis://127.0.0.1:%d",
		stopSignal: syscall.SIGTERM,
		find:       func() (string, error) { return inPath(program) },
		SetUp:      (*Server).makeData,
		Args: func(s *Server) []string {
			args := []string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.Data(), "--save", ""}
			for _, setting := range s.settings {
				args = append(args, strings.Fields(setting)...)
			}
			return args
		},
		Answers: func(s *Server) error {
			reply, err := ask(s, "PING\r\n", 5)
			// A server with a password replies -NOAUTH. While a server loads its data, it replies
			// -LOADING.
			if err == nil && reply != "+PONG" && reply != "-NOAU" {
				return ErrNotReady
			}
			return err
		},
	}
}

// etcd is the engine of etcd, as a cluster of one member.
var etcd = &Engine{
	service:    "etcd",
	title:      "etcd",
	version:    []string{"--version"},
	pkg:        "etcd-server",
	url:        "http://127.0.0.1:%d",
	stopSignal: syscall.SIGTERM,
	find:       func() (string, error) { return inPath("etcd") },
	SetUp:      (*Server).makeData,
	Args: func(s *Server) []string {
		// No other member connects to the port for peers, so port 0, which changes, is
		// sufficient.
		peer := "http://127.0.0.1:0"
		args := []string{
			"--name=test", "--data-dir=" + s.Data(), "--listen-client-urls=" + s.URL(), "--advertise-client-urls=" + s.URL(),
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=test=" + peer,
			"--heartbeat-interval=10", "--election-timeout=50",
		}
		return append(args, s.settings...)
	},
	Answers: func(s *Server) error {
		client := http.Client{Timeout: askTimeout}
		response, err := client.Get(s.URL() + "/health")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		if response.StatusCode != http.StatusOK {
			return ErrNotReady
		}
		return nil
	},
}

// zookeeperJar is where Debian's package installs ZooKeeper, and zookeeperPath is Java's
// class path for it.
const (
	zookeeperJar  = "/usr/share/java/zookeeper.jar"
	zookeeperPath = zookeeperJar + ":/usr/share/java/slf4j-simple.jar"
)

// zookeeper is the engine of ZooKeeper, as a single server.
var zookeeper = &Engine{
	service:    "zookeeper",
	title:      "ZooKeeper",
	version:    []string{"-cp", zookeeperPath, "org.apache.zookeeper.version.VersionInfoMain"},
	pkg:        "zookeeper",
	url:        "127.0.0.1:%d",
	stopSignal: syscall.SIGTERM,
	find: func() (string, error) {
		if _, err := os.Stat(zookeeperJar); err != nil {
			return "", err
		}
		return inPath("java")
	},
	SetUp: func(s *Server) error {
		lines := append([]string{
			"dataDir=" + s.Data(), "clientPort=" + strconv.Itoa(s.port), "clientPortAddress=127.0.0.1", "tickTime=500",
			"maxClientCnxns=0", "admin.enableServer=false", "4lw.commands.whitelist=srvr",
		}, s.settings...)
		return errors.Join(s.makeData(), os.WriteFile(s.zooCfg(), []byte(strings.Join(lines, "\n")), 0o600))
	},
	Args: func(s *Server) []string {
		return []string{
			"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
			"-cp", zookeeperPath,
			"org.apache.zookeeper.server.quorum.QuorumPeerMain", s.zooCfg(),
		}
	},
	Answers: func(s *Server) error {
		reply, err := ask(s, "srvr", 10)
		if err == nil && reply != "Zookeeper " {
			return fmt.Errorf("%w: %s", ErrNotReady, reply)
		}
		return err
	},
}

// zooCfg returns the path of the server's configuration.
func (s *Server) zooCfg() string { return s.File("zoo.cfg") }

// galera is the engine by which tests find Galera. The nodes are MariaDB servers, and its
// program is the library that they load.
var galera = &Engine{
	service: "galera",
	title:   "Galera",
	pkg:     "galera-4 rsync",
	find: func() (string, error) {
		for _, program := range []string{"mariadb", "rsync", "lsof"} {
			if _, err := inPath(program); err != nil {
				return "", err
			}
		}
		libraries := []string{ // paths of Debian and other systems
			"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera-4/libgalera_smm.so", "/usr/lib64/galera/libgalera_smm.so",
		}
		for _, library := range libraries {
			if _, err := os.Stat(library); err == nil {
				return library, nil
			}
		}
		return "", fmt.Errorf("no %s", strings.Join(libraries, ", "))
	},
}

// adopt is a program that runs Patroni and adopts orphans. Patroni orphans PostgreSQL, so
// that it can be stopped without stopping PostgreSQL.
const adopt = `import ctypes, os, signal, subprocess, sys
ctypes.CDLL(None).prctl(36, 1) # PR_SET_CHILD_SUBREAPER
child = subprocess.Popen(sys.argv[1:])
signal.signal(signal.SIGTERM, lambda *_: child.terminate())
while os.wait()[0] != child.pid: pass`

// patroni is the engine of a PostgreSQL server under Patroni. Package testcluster sets SetUp,
// which writes the configuration, and Answers.
var patroni = &Engine{
	service:    "patroni",
	title:      "Patroni",
	version:    []string{"-m", "patroni", "--version"},
	pkg:        "patroni python3-etcd",
	url:        postgres.url,
	stopSignal: syscall.SIGTERM,
	Account:    postgres.Account,
	find: func() (string, error) {
		if _, err := inPath("patroni"); err != nil {
			return "", err
		}
		const python = "/usr/bin/python3" // the Python for which Debian has the package
		_, err := os.Stat(python)
		return python, err
	},
	Args:   func(s *Server) []string { return []string{"-c", adopt, "patroni", s.File("patroni.yml")} },
	client: postgres.client,
}

// haproxy is the engine of HAProxy, which forwards clients to the leader of a cluster. Package
// testcluster sets SetUp, which writes the configuration.
var haproxy = &Engine{
	service:    "haproxy",
	title:      "HAProxy",
	version:    []string{"-v"},
	pkg:        "haproxy",
	url:        postgres.url,
	stopSignal: syscall.SIGTERM,
	find:       func() (string, error) { return inPath("haproxy") },
	Args:       func(s *Server) []string { return []string{"-db", "-f", s.File("haproxy.cfg")} },
	Answers: func(s *Server) error {
		conn, err := net.DialTimeout("tcp", s.Address(), askTimeout)
		if err == nil {
			err = conn.Close()
		}
		return err
	},
}

// sibling returns the path of a program in the same folder as the server's program.
func (s *Server) sibling(name string) string { return filepath.Join(filepath.Dir(s.program), name) }
