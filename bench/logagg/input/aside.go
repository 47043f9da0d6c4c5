package input

import (
	"encoding/json"
	"io"
	"sync"
)

// maxKept bounds how much of a malformed line is kept, in bytes.
const maxKept = 1 << 10

// Aside keeps malformed lines for whoever wants to know what is wrong with them: as JSON,
// so that binary garbage can be looked at without harm. Its size is bounded, for garbage
// is not.
type Aside struct {
	mu   sync.Mutex
	w    io.Writer
	left int64 // bytes that may still be written
	err  error
}

// NewAside keeps lines in w, up to limit bytes.
func NewAside(w io.Writer, limit int64) *Aside { return &Aside{w: w, left: limit} }

// kept is what is written of a line. Bytes that are not UTF-8 become U+FFFD.
type kept struct {
	From string `json:"from"`
	Why  string `json:"why"`
	Line string `json:"line"` // or its begin
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

// Err returns the first error of writing; no line was kept after it. Lines are counted
// all the same.
func (a *Aside) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
