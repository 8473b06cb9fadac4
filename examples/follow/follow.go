package main

import (
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// Event is a row that other programs want to read.
type Event struct {
	ID   types.ID `gorm:"primaryKey" snowflake:"pk"`
	Text string
}

// TableName differs from the events table that your database may have.
func (Event) TableName() string { return "follow_example_events" }

// follower returns the events that it has not returned before.
type follower interface {
	poll() ([]Event, error)
}

// lastKeyFollower shows the mistake. Once it has returned a key, it never returns an
// event with a smaller key, although another transaction may commit such an event later.
type lastKeyFollower struct {
	db   *gorm.DB
	last types.ID
}

// poll returns the events whose keys are larger than the last key that it has returned.
func (f *lastKeyFollower) poll() ([]Event, error) {
	var events []Event
	if err := f.db.Where("id > ?", f.last).Order("id").Find(&events).Error; err != nil {
		return nil, err
	}
	if len(events) > 0 {
		f.last = events[len(events)-1].ID
	}
	return events, nil
}

// overlapFollower works on every database. Each poll starts an overlap before the
// previous poll, and drops the events that it has seen.
type overlapFollower struct {
	db     *gorm.DB
	layout snowflake.Layout

	// overlap is longer than the longest time from the assignment of a key to the end of
	// its transaction, plus the largest difference of two machines' clocks.
	overlap time.Duration

	since time.Time // the begin of the previous poll; store it to continue after a restart
	seen  map[types.ID]bool
}

// poll returns the events that were not visible to the previous poll.
func (f *overlapFollower) poll() ([]Event, error) {
	begun := time.Now() // before the query, so that the next poll reads rows that commit during it
	var events []Event
	from := f.layout.Min(f.since.Add(-f.overlap))
	if err := f.db.Where("id >= ?", from).Order("id").Find(&events).Error; err != nil {
		return nil, err
	}
	read, unseen := make(map[types.ID]bool, len(events)), []Event{}
	for _, e := range events {
		read[e.ID] = true
		if !f.seen[e.ID] {
			unseen = append(unseen, e)
		}
	}
	// Forget the events that this poll did not read again. Later polls begin later, so they
	// do not read these events either.
	f.since, f.seen = begun, read
	return unseen, nil
}

// transactionFollower is exact on PostgreSQL, and makes no assumption about the length of
// transactions. The column written_by holds the transaction of each row. Every
// transaction below pg_snapshot_xmin has ended, so its rows are all visible.
type transactionFollower struct {
	db   *gorm.DB
	next string // the first transaction that was not read; store it to continue after a restart
}

// followTransactions returns a follower that begins with the oldest transaction that still
// runs.
func followTransactions(db *gorm.DB) (*transactionFollower, error) {
	next, err := oldestRunning(db)
	return &transactionFollower{db: db, next: next}, err
}

// poll returns the events of the transactions that have ended since the previous poll, but
// not of transactions that began after a transaction that still runs.
func (f *transactionFollower) poll() ([]Event, error) {
	end, err := oldestRunning(f.db)
	if err != nil {
		return nil, err
	}
	var events []Event
	err = f.db.Where("written_by >= CAST(? AS xid8) AND written_by < CAST(? AS xid8)", f.next, end).Order("id").Find(&events).Error
	if err == nil {
		f.next = end
	}
	return events, err
}

// oldestRunning returns the number of the oldest transaction that still runs.
func oldestRunning(db *gorm.DB) (transaction string, err error) {
	err = db.Raw("SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)").Scan(&transaction).Error
	return transaction, err
}
