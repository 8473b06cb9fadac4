package testserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

var postgres = &engine{
	service:    "postgres",
	title:      "PostgreSQL",
	pkg:        "postgresql",
	url:        "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
	stopSignal: syscall.SIGINT, // a fast shutdown: does not wait for clients to leave
	notRoot:    true,
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
	setup: func(s *Server) error {
		return s.run(s.sibling("initdb"), "--no-sync", "--auth=trust", "--username=postgres",
			"--encoding=UTF8", "--locale=C", "--pgdata="+s.data())
	},
	args: func(s *Server) []string {
		args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
		settings := []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=16MB"}
		for _, setting := range append(settings, s.settings...) {
			args = append(args, "-c", setting)
		}
		return args
	},
	answers: func(s *Server) error {
		return s.run(s.sibling("pg_isready"), "--quiet", "--host=127.0.0.1", "--port="+strconv.Itoa(s.port))
	},
}

var mariadb = &engine{
	service:    "mysql",
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
	setup: func(s *Server) error {
		install, err := inPath("mariadb-install-db")
		if err != nil {
			return err
		}
		return s.run(install, append(mariadbArgs(s), "--auth-root-authentication-method=normal",
			"--skip-name-resolve")...)
	},
	args: func(s *Server) []string {
		args := append(mariadbArgs(s), "--port="+strconv.Itoa(s.port), "--bind-address=127.0.0.1",
			"--socket="+filepath.Join(s.dir, "socket"), "--pid-file="+filepath.Join(s.dir, "pid"), "--skip-name-resolve",
			"--innodb-buffer-pool-size=16M")
		for _, setting := range s.settings {
			args = append(args, "--"+setting)
		}
		return args
	},
	answers: func(s *Server) error {
		const protocolVersion = 10 // the first byte of a greeting; an error has another
		greeting, err := ask(s, "", 5)
		if err == nil && greeting[4] != protocolVersion {
			return errNotReady
		}
		return err
	},
}

func mariadbArgs(s *Server) []string {
	args := []string{"--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + s.dir, "--innodb-log-file-size=8M"}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

var redis = &engine{
	service:    "redis",
	title:      "Redis",
	pkg:        "redis-server",
	url:        "redis://127.0.0.1:%d",
	stopSignal: syscall.SIGTERM,
	find:       func() (string, error) { return inPath("redis-server") },
	setup:      (*Server).makeData,
	args: func(s *Server) []string {
		args := []string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.data(), "--save", ""}
		for _, setting := range s.settings {
			args = append(args, strings.Fields(setting)...)
		}
		return args
	},
	answers: func(s *Server) error {
		reply, err := ask(s, "PING\r\n", 5)
		if err == nil && reply != "+PONG" && reply != "-NOAU" { // not -LOADING
			return errNotReady
		}
		return err
	},
}

var etcd = &engine{
	service:    "etcd",
	title:      "etcd",
	pkg:        "etcd-server",
	url:        "http://127.0.0.1:%d",
	stopSignal: syscall.SIGTERM,
	find:       func() (string, error) { return inPath("etcd") },
	setup:      (*Server).makeData,
	args: func(s *Server) []string {
		// Nobody connects to the port for peers, so port 0 is free to change.
		peer := "http://127.0.0.1:0"
		args := []string{
			"--name=test", "--data-dir=" + s.data(), "--listen-client-urls=" + s.URL(), "--advertise-client-urls=" + s.URL(),
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=test=" + peer,
			"--heartbeat-interval=10", "--election-timeout=50",
		}
		return append(args, s.settings...)
	},
	answers: func(s *Server) error {
		client := http.Client{Timeout: askTimeout}
		response, err := client.Get(s.URL() + "/health")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		if response.StatusCode != http.StatusOK {
			return errNotReady
		}
		return nil
	},
}

// zookeeperJar is where Debian has it, with the path to what it needs inside.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

var zookeeper = &engine{
	service:    "zookeeper",
	title:      "ZooKeeper",
	pkg:        "zookeeper",
	url:        "127.0.0.1:%d",
	stopSignal: syscall.SIGTERM,
	find: func() (string, error) {
		if _, err := os.Stat(zookeeperJar); err != nil {
			return "", err
		}
		return inPath("java")
	},
	setup: func(s *Server) error {
		lines := append([]string{
			"dataDir=" + s.data(), "clientPort=" + strconv.Itoa(s.port), "clientPortAddress=127.0.0.1", "tickTime=500",
			"maxClientCnxns=0", "admin.enableServer=false", "4lw.commands.whitelist=srvr",
		}, s.settings...)
		return errors.Join(s.makeData(), os.WriteFile(s.zooCfg(), []byte(strings.Join(lines, "\n")), 0o600))
	},
	args: func(s *Server) []string {
		return []string{
			"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
			"-cp", zookeeperJar + ":/usr/share/java/slf4j-simple.jar",
			"org.apache.zookeeper.server.ZooKeeperServerMain", s.zooCfg(),
		}
	},
	answers: func(s *Server) error {
		reply, err := ask(s, "srvr", 10)
		if err == nil && reply != "Zookeeper " {
			return fmt.Errorf("%w: %s", errNotReady, reply)
		}
		return err
	},
}

func (s *Server) zooCfg() string { return filepath.Join(s.dir, "zoo.cfg") }

// sibling is a program in the folder of the server's own.
func (s *Server) sibling(name string) string { return filepath.Join(filepath.Dir(s.program), name) }
