package park

// A Place is a Select's place in a Line. Nobody serves it there: it is woken,
// looks for itself like anybody who comes by, and goes back to the front if
// another was faster.
type Place struct {
	line   *Line
	able   func() bool // another one of the line could proceed
	waiter waiter
	joined bool
}

// NewPlace returns a place in line. able reports whether somebody who waits there
// could proceed. It allocates.
func NewPlace(line *Line, able func() bool) *Place { return &Place{line: line, able: able} }

// Join puts the Select of c in line, or back in line, as its place of that number.
func (p *Place) Join(c *Choice, number int) {
	p.joined = true
	p.line.enter(&p.waiter, c, number)
}

// Leave takes the Select out of the line, and passes on the wake-up that it holds.
func (p *Place) Leave() {
	if !p.joined {
		return
	}
	p.joined = false
	p.line.exit(&p.waiter)
	if p.line.Waiting() && p.able() {
		p.line.Wake()
	}
}

// Tally returns the line's count of waits.
func (p *Place) Tally() *Tally { return p.line.Tally() }
