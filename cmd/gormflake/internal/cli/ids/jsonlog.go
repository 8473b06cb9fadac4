package ids

import (
	"bytes"
	"encoding/json"

	"github.com/gormflake/gormflake/cmd/gormflake/internal/cli/terminal"
	"github.com/gormflake/gormflake/types"
)

// idsField is what --json-log adds to an object.
const idsField = `"snowflake_ids":`

// A contained is what an ID of a log contains.
type contained struct {
	ID         types.ID `json:"id"`
	Time       string   `json:"time"`
	Datacenter int64    `json:"datacenter"`
	Worker     int64    `json:"worker"`
	Sequence   int64    `json:"sequence"`
}

// jsonLine prints the line. If that is an object with IDs, they get a field of
// their own at its end; all else stays byte for byte what it was.
func (p *printer) jsonLine(line []byte) error {
	object := bytes.TrimRight(line, " \t\r\n")
	ids := p.contained(object)
	if len(ids) == 0 || !isObject(object) || bytes.Contains(object, []byte(idsField)) {
		return p.text(line)
	}
	field, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{object[:len(object)-1], []byte("," + idsField), field, []byte("}"), line[len(object):]} {
		if err := p.text(part); err != nil {
			return err
		}
	}
	return nil
}

// contained has each ID of the text once.
func (p *printer) contained(text []byte) []contained {
	var all []contained
	seen := map[types.ID]bool{}
	for r := range p.ids(text) {
		if seen[r.id] {
			continue
		}
		seen[r.id] = true
		parts := p.layout.Decompose(r.id)
		all = append(all, contained{
			ID: r.id, Time: parts.Time.UTC().Format(terminal.Milliseconds),
			Datacenter: parts.Datacenter, Worker: parts.Worker, Sequence: parts.Sequence,
		})
	}
	return all
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}
