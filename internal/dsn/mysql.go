package dsn

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

func openMySQL(rest string) (gorm.Dialector, error) {
	if err := checkAuthority(rest, mysqlForm); err != nil {
		return nil, err
	}
	u, err := url.Parse("mysql://" + rest)
	if err != nil {
		return nil, errors.New("dsn: mysql URL does not parse: want " + mysqlForm)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("dsn: mysql parameters: %w", err)
	}
	network, address, err := mysqlAddress(u, query)
	if err != nil {
		return nil, err
	}
	config, err := mysqlParams(query)
	if err != nil {
		return nil, err
	}
	config.Net, config.Addr = network, address
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	return mysqlDialector(config)
}

// mysqlAddress takes the parameter socket out of query: it is ours and not
// known to the driver.
func mysqlAddress(u *url.URL, query url.Values) (network, address string, err error) {
	socket := query.Get("socket")
	query.Del("socket")
	if socket == "" {
		host := cmp.Or(u.Hostname(), "127.0.0.1")
		return "tcp", net.JoinHostPort(host, cmp.Or(u.Port(), "3306")), nil
	}
	if u.Host != "" {
		return "", "", errors.New("dsn: mysql: host and socket are both given: want one of them")
	}
	return "unix", socket, nil
}

// mysqlParams reads the driver's parameters. GORM cannot scan a time without
// parseTime.
func mysqlParams(query url.Values) (*driver.Config, error) {
	if !query.Has("parseTime") {
		query.Set("parseTime", "true")
	}
	config, err := driver.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, fmt.Errorf("dsn: mysql parameters: %w", err)
	}
	return config, nil
}

// mysqlDialector reads config back from the driver's own text form, which GORM
// passes on. That form has no escape for a colon in a user name, nor a place
// for a password without a user.
func mysqlDialector(config *driver.Config) (gorm.Dialector, error) {
	parsed, err := driver.ParseDSN(config.FormatDSN())
	if err != nil || parsed.User != config.User || parsed.Passwd != config.Passwd ||
		parsed.Net != config.Net || parsed.Addr != config.Addr || parsed.DBName != config.DBName {
		return nil, errors.New("dsn: mysql: user, host or database has a form that the driver cannot express: " +
			"want a user name without colon, and no password without a user name")
	}
	return mysql.New(mysql.Config{DSNConfig: parsed}), nil
}
