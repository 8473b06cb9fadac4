package main

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// batchSize is the number of rows in one INSERT. Larger batches save little, and
// every database limits the parameters of a statement.
const batchSize = 100

// insertNested lets GORM do everything: it inserts a batch of orders, sets the
// foreign keys of their lines and inserts these. The plugin fills both keys.
func insertNested(db *gorm.DB, orders []Order) error {
	return db.CreateInBatches(&orders, batchSize).Error
}

// insertAssigned numbers and links all rows in memory, then inserts one table after
// the other in full batches. If the transaction fails, the same orders can be
// inserted again: Assign keeps the keys that are set.
func insertAssigned(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Omit("Lines").CreateInBatches(&orders, batchSize).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(linesOf(orders), batchSize).Error
	})
}

// insertCopied uses COPY, the fastest way into PostgreSQL. COPY returns no keys,
// so parents and children need keys that are known beforehand. Connection borrows
// one from GORM's pool, which wraps the pool of pgx.
func insertCopied(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	ctx := db.Statement.Context
	return db.Connection(func(one *gorm.DB) error {
		return one.Statement.ConnPool.(*sql.Conn).Raw(func(conn any) error {
			return pgx.BeginFunc(ctx, conn.(*stdlib.Conn).Conn(), func(tx pgx.Tx) error { return copyAll(ctx, tx, db, orders) })
		})
	})
}

func copyAll(ctx context.Context, tx pgx.Tx, db *gorm.DB, orders []Order) error {
	for _, rows := range []any{orders, linesOf(orders)} {
		src, err := gormflake.CopySource(db.Omit("Lines"), rows)
		if err != nil {
			return err
		}
		if _, err := tx.CopyFrom(ctx, src.Table(), src.Columns(), src); err != nil {
			return err
		}
	}
	return nil
}

func linesOf(orders []Order) []Line {
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return lines
}
