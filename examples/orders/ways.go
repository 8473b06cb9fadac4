package main

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// batchRows is how many rows one INSERT carries. Every server takes 500 rows of
// 5 columns, and larger batches save little. SQLite is no server that would
// have to be asked less often, and its driver without cgo takes a time that
// grows with the square of a statement's parameters.
func batchRows(db *gorm.DB) int {
	if db.Name() == "sqlite" {
		return 100
	}
	return 500
}

// insertBatches is what this example is about. Assign gives every order and
// every line its key, and every line the key of its order, before anything is
// sent. Then both tables are written in batches, orders first, and no key has
// to be read back.
//
// If the transaction fails, nothing is stored and the same orders can be tried
// again: keys that are set are kept.
func insertBatches(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	rows := batchRows(db)
	return db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Omit("Lines").CreateInBatches(orders, rows).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(linesOf(orders), rows).Error
	})
}

// insertOneByOne is what programs do that wait for the database to make up the
// keys: for each order one INSERT, whose key comes back, and another one for
// its lines.
func insertOneByOne(db *gorm.DB, orders []AutoOrder) error {
	return db.Transaction(func(tx *gorm.DB) error {
		for i := range orders {
			if err := tx.Create(&orders[i]).Error; err != nil {
				return err
			}
		}
		return nil
	})
}

func linesOf(orders []Order) []Line {
	count := 0
	for _, order := range orders {
		count += len(order.Lines)
	}
	lines := make([]Line, 0, count)
	for _, order := range orders {
		lines = append(lines, order.Lines...)
	}
	return lines
}
