package plot

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A box is the area of a text, by widthOf.
type box struct {
	text                     string
	left, right, top, bottom float64
}

func (b box) String() string {
	return fmt.Sprintf("%q at %.0f..%.0f, %.0f..%.0f", b.text, b.left, b.right, b.top, b.bottom)
}

// boxes returns the boxes of all texts of a drawing, and its size.
func boxes(t *testing.T, svg string) (texts []box, width, height float64) {
	t.Helper()
	var drawing struct {
		ViewBox string `xml:"viewBox,attr"`
	}
	if err := xml.Unmarshal([]byte(svg), &drawing); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(drawing.ViewBox, "0 0 %f %f", &width, &height); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if err != nil {
			return texts, width, height
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			texts = append(texts, boxOf(t, decoder, start))
		}
	}
}

func boxOf(t *testing.T, decoder *xml.Decoder, start xml.StartElement) box {
	t.Helper()
	var text struct {
		X      float64 `xml:"x,attr"`
		Y      float64 `xml:"y,attr"`
		Anchor string  `xml:"text-anchor,attr"`
		Class  string  `xml:"class,attr"`
		Text   string  `xml:",chardata"`
	}
	if err := decoder.DecodeElement(&text, &start); err != nil {
		t.Fatal(err)
	}
	size := map[string]float64{"title": titleSize, "axis": tickSize, "tick": tickSize}[text.Class]
	if size == 0 {
		size = labelSize
	}
	w := widthOf(text.Text, size)
	height := min(size, 13.5) // a title is wider, not higher
	b := box{text: text.Text, left: text.X, top: text.Y - 0.8*height, bottom: text.Y + 0.22*height}
	switch text.Anchor {
	case "middle":
		b.left -= w / 2
	case "end":
		b.left -= w
	}
	b.right = b.left + w
	return b
}

// misplaced reports texts that leave a drawing or overlap.
func misplaced(texts []box, width, height float64) (wrong []string) {
	for i, a := range texts {
		if a.left < -0.5 || a.right > width+0.5 || a.top < 0 || a.bottom > height {
			wrong = append(wrong, "cut off: "+a.String())
		}
		for _, b := range texts[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				wrong = append(wrong, a.String()+" over "+b.String())
			}
		}
	}
	return wrong
}

func TestNoTextIsCutOffOrCovered(t *testing.T) {
	few, many, wide := series(3, "sluice.Bounded"), series(14, "published, flushing pump with a buffer of"), []string(nil)
	for i := range 12 {
		wide = append(wide, strconv.Itoa(100*i)+" µs")
	}
	const long = "The synchronization-blocking profile of ten workers that receive from one channel"
	dots := Dots{Title: long, Unit: "ns per operation", Better: "less is better", Figures: []Figure{
		{Label: "unbuffered, flushing, GOMAXPROCS=4, and a name that is longer than a line", Text: "1599 ± 20%", Marks: []Mark{{Value: exact(26)}, {Value: exact(1599)}}},
		{Label: "short", Text: "1"},
		{Label: strings.Repeat("unbroken", 9), Text: "FAILED"},
	}}
	charts := map[string]string{
		"few":        Lines{Title: "t", XAxis: "GOMAXPROCS", YAxis: "ns per value", X: []string{"1", "2", "4"}, Shaded: 3, Series: few}.SVG(),
		"shaded":     Lines{Title: long, XAxis: long, YAxis: "million values per second", Better: "more is better", X: []string{"1", "2", "128"}, Shaded: 2, Shade: "oversubscribed", Series: many}.SVG(),
		"all shaded": Lines{Title: "t", XAxis: "x", YAxis: "ns", X: []string{"64"}, Shaded: 0, Shade: "oversubscribed", Series: many}.SVG(),
		"many":       Lines{Title: "t", XAxis: "job", YAxis: "ns", X: wide, Shaded: 12, Series: many}.SVG(),
		"long words": Lines{Title: "t", XAxis: "job", YAxis: "ns", X: wide[:2], Shaded: 2, Series: series(2, strings.Repeat("word", 12))}.SVG(),
		"dots":       dots.SVG(),
		"to the end": Dots{Title: "t", Unit: "ns", Figures: []Figure{{Label: "a", Text: "1", Marks: []Mark{{Value: exact(200)}, {Value: exact(2000)}}}}}.SVG(),
	}
	for name, svg := range charts {
		t.Run(name, func(t *testing.T) {
			texts, width, height := boxes(t, svg)
			if len(texts) < 5 {
				t.Errorf("only %d texts were found", len(texts))
			}
			for _, wrong := range misplaced(texts, width, height) {
				t.Error(wrong)
			}
		})
	}
	for _, planted := range []struct {
		texts []box
		says  string
	}{
		{[]box{{"a", 0, 401, 0, 10}}, "cut off"},
		{[]box{{"a", 0, 9, 95, 105}}, "cut off"},
		{[]box{{"a", 0, 10, 0, 10}, {"b", 9, 20, 9, 20}}, "over"},
	} {
		if wrong := misplaced(planted.texts, 400, 100); len(wrong) != 1 || !strings.Contains(wrong[0], planted.says) {
			t.Errorf("%v: reported %q", planted.texts, wrong)
		}
	}
}

// series returns n series that end at nearly the same height, near the lower edge.
func series(n int, name string) []Series {
	var all []Series
	for i := range n {
		all = append(all, Series{
			Name: name + " " + strconv.Itoa(i) + " slots",
			At:   map[int]Value{0: exact(100), 1: exact(1 + float64(i)/100)},
		})
	}
	return all
}

// Names are in the order of the ends of their lines.
func TestLabelsKeepTheOrder(t *testing.T) {
	f := Lines{X: []string{"1", "2"}, Shaded: 2, Series: series(9, "s")}.layout()
	if len(f.labels) != 9 {
		t.Fatalf("%d labels, want 9", len(f.labels))
	}
	for i := 1; i < len(f.labels); i++ {
		above, below := f.labels[i-1], f.labels[i]
		if above.at > below.at || above.y+above.height()/2 > below.y-below.height()/2+0.01 {
			t.Errorf("label %+v stands above %+v", above, below)
		}
	}
	if top, bottom := f.labels[0], f.labels[8]; top.y < f.top || bottom.y > f.bottom {
		t.Errorf("labels from %v to %v leave the frame from %v to %v", top.y, bottom.y, f.top, f.bottom)
	}
}

func TestInLines(t *testing.T) {
	const text = "sluice.Elastic, batches of 64 × über-long"
	for room := 30.0; room < 300; room += 7 {
		lines := inLines(text, labelSize, room)
		for _, line := range lines {
			if widthOf(line, labelSize) > room {
				t.Errorf("in a room of %v: %q", room, line)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, ""), " ", ""); got != strings.ReplaceAll(text, " ", "") {
			t.Errorf("in a room of %v letters are lost: %q", room, lines)
		}
	}
	if got := inLines("ab", labelSize, 1); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("with room for nothing: %q", got)
	}
	if got := inLines("", labelSize, 100); len(got) != 0 {
		t.Errorf("nothing has the lines %q", got)
	}
}
