package report

import (
	"html/template"
)

// A drawing is a picture of an experiment on the page.
type drawing struct {
	SVG     template.HTML
	Caption string
}

func (e *Experiment) drawings() []drawing {
	var all []drawing
	for _, p := range e.Pictures {
		all = append(all, drawing{template.HTML(p.State.SVG()), p.Caption})
	}
	return all
}
