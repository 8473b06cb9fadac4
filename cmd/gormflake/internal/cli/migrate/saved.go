package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gormflake/gormflake/sqlmigrate"
)

// savedVersion is the version of the format of a saved plan. Increase it if the format
// changes.
const savedVersion = 1

// A savedPlan is the content of the file that "migrate apply" writes and "migrate revert"
// reads. The file is needed because after a plan was applied, the database does not show the
// earlier types and counters any more.
type savedPlan struct {
	Version int              `json:"gormflake_plan"`
	Saved   time.Time        `json:"saved"`
	Plan    *sqlmigrate.Plan `json:"plan"`
}

// savePlan writes the plan to a new file before the plan is applied. It returns an error if
// the file exists, because that file may be the only way back of another move. If it cannot
// write the whole plan, it removes the file.
func savePlan(name string, plan *sqlmigrate.Plan, now time.Time) error {
	text, err := json.MarshalIndent(savedPlan{savedVersion, now.UTC(), plan}, "", "  ")
	if err != nil {
		return fmt.Errorf("save the plan: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the plan for the way back, nothing has been changed: %w: give another --save, or --save \"\" to go without", err)
	}
	_, err = f.Write(append(text, '\n'))
	// With Sync, the file survives a crash of the machine while the plan is applied.
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("save the plan for the way back, nothing has been changed: %w", errors.Join(err, os.Remove(name)))
	}
	return nil
}

// readPlan reads a file that savePlan has written. It rejects unknown fields, because a
// file of a newer version may need more than this version reverts.
func readPlan(name string) (*sqlmigrate.Plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the saved plan: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var saved savedPlan
	if err := decoder.Decode(&saved); err != nil {
		return nil, fmt.Errorf("%s is not a plan that \"gormflake migrate apply\" has saved: %w", name, err)
	}
	if saved.Version != savedVersion || saved.Plan == nil {
		return nil, fmt.Errorf("%s: form %d of a saved plan: want %d: take the gormflake that has saved it", name, saved.Version, savedVersion)
	}
	return saved.Plan, nil
}
