package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gormflake/gormflake/internal/dsn"
	"github.com/gormflake/gormflake/lease/sqllease"
)

// namespace keeps the workers of this example apart from those of an application
// in the same database.
func namespace() sqllease.Option { return sqllease.WithNamespace("leased_example") }

func fileIn(dir string) string { return "sqlite://" + url.PathEscape(filepath.Join(dir, "orders.db")) }

// connect opens the database. The caller closes it, with disconnect.
func connect(address string) (*gorm.DB, error) {
	dialector, err := dsn.Open(address)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return db, nil
}

func disconnect(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// impatient is the same database, where a transaction that finds SQLite's writer
// lock taken gives up soon. The other databases have no such lock.
func impatient(address string) string {
	if !strings.HasPrefix(address, "sqlite:") {
		return address
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "_pragma=busy_timeout(300)"
}
