package dsn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// openPostgres leaves the URL as it is, for pgx reads more forms than net/url:
// several hosts, sockets, and a host among the parameters. It reports of pgx's errors
// only what is about a parameter. The others quote the host, which is a part of the
// password if that has an unescaped character or if host and @ are missing.
func openPostgres(rest string) (gorm.Dialector, error) {
	if err := checkAuthority(rest, postgresForm); err != nil {
		return nil, err
	}
	_, err := pgx.ParseConfig("postgres://" + rest)
	if err == nil {
		return postgres.Open("postgres://" + rest), nil
	}
	address, _, _ := strings.Cut(rest, "?")
	_, badAddress := pgx.ParseConfig("postgres://" + address)
	cause := errors.Unwrap(err)
	if badAddress != nil || cause == nil {
		return nil, errors.New("dsn: postgres URL does not parse: want " + postgresForm)
	}
	return nil, fmt.Errorf("dsn: postgres parameters: %w", cause)
}
