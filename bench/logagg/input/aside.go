package input

import (
	"encoding/json"
	"io"
	"sync"
)

// maxKept limits how much of a malformed line is kept, in bytes.
const maxKept = 1 << 10

// Aside keeps malformed lines for diagnosis: as JSON, so that binary data is
// safe to display. Its size is limited, because the number of malformed lines
// is not.
type Aside struct {
	mu   sync.Mutex
	w    io.Writer
	left int64 // bytes that may still be written
	err  error
}

// NewAside keeps lines in w, up to limit bytes.
func NewAside(w io.Writer, limit int64) *Aside { return &Aside{w: w, left: limit} }

// kept is the record of a line. Bytes that are not UTF-8 become U+FFFD.
type kept struct {
	From string `json:"from"`
	Why  string `json:"why"`
	Line string `json:"line"` // or its beginning
	Cut  bool   `json:"cut,omitempty"`
}

func (a *Aside) add(from string, line []byte, why error) {
	begin := line[:min(len(line), maxKept)]
	text, err := json.Marshal(kept{from, why.Error(), string(begin), len(begin) < len(line)})
	text = append(text, '\n')
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil || int64(len(text)) > a.left {
		return
	}
	if err == nil {
		_, err = a.w.Write(text)
	}
	a.err = err
	a.left -= int64(len(text))
}

// Err returns the first write error; no line was kept after it. Lines are
// counted nevertheless.
func (a *Aside) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
