package profile

import (
	"strings"
	"testing"
)

// TestStartedBy: the text of goroutines has the number of the one that started
// each.
func TestStartedBy(t *testing.T) {
	const text = `goroutine 7 [chan receive]:
main.parse()
	m.go:5 +0x1
created by main.main in goroutine 1
	m.go:1 +0x1

goroutine 9 [chan send]:
main.lex()
	m.go:9 +0x1
created by main.parse in goroutine 7
	m.go:5 +0x1

goroutine 11 [chan send]:
main.lex()
	m.go:9 +0x1
created by main.parse in goroutine 8
	m.go:5 +0x1
`
	g, err := readGoroutineText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(g.StartedBy) != 1 || g.StartedBy["main.lex"]["main.parse"] != 1 {
		t.Errorf("%v, want one lex by a parse that is in the text", g.StartedBy)
	}
}
