// Package sqlcplain is what sqlc generates from query.sql for MySQL. SQLite takes the
// same statements.
package sqlcplain

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
