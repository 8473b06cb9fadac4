// Package sqlcquery contains the code that sqlc generates from schema.sql and query.sql.
package sqlcquery

//go:generate go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate
