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

// TableName returns another name than events, because your database may have such a table.
func (Event) TableName() string { return "follow_example_events" }

// follower reads the events of the table while other programs write it. Each call of poll
// returns the events that it has found and has not returned before.
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

// overlapFollower works on every database. Each poll reads the events whose keys were assigned
// after the previous poll began. It also reads again the events of the time before that, for
// example of ten minutes (overlap), because their transactions may have committed only after
// the previous poll. It drops the events that the previous poll has read. The first poll after a
// restart drops none, because the field seen is then empty.
type overlapFollower struct {
	db     *gorm.DB
	layout snowflake.Layout

	// overlap is longer than the longest time from the assignment of a key to the end of
	// its transaction, plus the largest difference of two machines' clocks.
	overlap time.Duration

	since time.Time         // when the previous poll began; store it to continue after a restart
	seen  map[types.ID]bool // the events that the previous poll has read
}

// poll returns the events that were not visible to the previous poll.
func (f *overlapFollower) poll() ([]Event, error) {
	begun := time.Now() // before the query, so that the next poll reads rows that commit during it
	var events []Event
	from := f.layout.Min(f.since.Add(-f.overlap)) // the smallest key of this time
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
// transactions. The column written_by holds the number of the transaction that wrote the row.
// PostgreSQL numbers transactions in the order in which they begin to write, and
// pg_snapshot_xmin is the smallest number of a transaction that still runs. All transactions
// with smaller numbers have ended, so their rows are visible.
type transactionFollower struct {
	db   *gorm.DB
	next string // the number of the first transaction that was not read; store it to continue after a restart
}

// followTransactions returns a transactionFollower that begins with the oldest transaction that
// still runs.
func followTransactions(db *gorm.DB) (*transactionFollower, error) {
	next, err := oldestRunning(db)
	return &transactionFollower{db: db, next: next}, err
}

// poll returns the events of the transactions from f.next up to, but without, the oldest
// transaction that still runs. The events of a transaction that has ended, but that has a larger
// number than the oldest running transaction, come in a later poll.
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

// oldestRunning returns the number of the oldest transaction that still runs, or the number of
// the next transaction if none runs.
func oldestRunning(db *gorm.DB) (transaction string, err error) {
	err = db.Raw("SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)").Scan(&transaction).Error
	return transaction, err
}
