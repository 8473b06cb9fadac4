package main

import (
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
)

// batchSize is the number of rows in one INSERT. Larger batches save little, and every
// database limits the parameters of a statement.
const batchSize = 100

// insertNested is the first way. GORM inserts a batch of orders, sets the foreign keys of their
// lines, inserts the lines, and goes on with the next batch. The plugin sets the keys of both.
func insertNested(db *gorm.DB, orders []Order) error {
	return db.CreateInBatches(&orders, batchSize).Error
}

// insertAssigned is the second, faster way. It sets all keys and foreign keys in memory, and
// then inserts one table after the other in full batches. If the transaction fails, the same
// orders can be inserted again, because Assign keeps the keys that are set.
func insertAssigned(db *gorm.DB, orders []Order) error {
	if err := gormflake.Assign(db, &orders); err != nil {
		return err
	}
	return db.Transaction(func(tx *gorm.DB) error {
		// Omit keeps GORM from inserting the lines too.
		if err := tx.Omit("Lines").CreateInBatches(&orders, batchSize).Error; err != nil {
			return err
		}
		return tx.CreateInBatches(linesOf(orders), batchSize).Error
	})
}

// linesOf returns the lines of all orders.
func linesOf(orders []Order) []Line {
	var lines []Line
	for _, o := range orders {
		lines = append(lines, o.Lines...)
	}
	return lines
}
