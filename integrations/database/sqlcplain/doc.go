// Package sqlcplain contains the code that sqlc generates from query.sql for MySQL.
// SQLite accepts the same statements.
package sqlcplain

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
