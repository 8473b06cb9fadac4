package ids

import (
	"bytes"
	"encoding/json"
	"fmt"

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
func (p *printer) jsonLine(line []byte) {
	object := bytes.TrimRight(line, " \t\r\n")
	ids := p.contained(object)
	if len(ids) == 0 || !isObject(object) || bytes.Contains(object, []byte(idsField)) {
		p.text(line)
		return
	}
	field, _ := json.Marshal(ids) // of texts and numbers, which can always be marshalled
	_, _ = fmt.Fprintf(p.out, "%s,%s%s}%s", object[:len(object)-1], idsField, field, line[len(object):])
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
		parts := p.parts(r.id)
		all = append(all, contained{r.id, terminal.Stamp(parts.Time), parts.Datacenter, parts.Worker, parts.Sequence})
	}
	return all
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}
