package plot

import (
	"strings"
	"testing"
)

func bars(send, receive map[int]Value) Bars {
	return Bars{
		Title: "native <10>", XAxis: "capacity", YAxis: "ns per value", Class: "n0", X: []string{"0", "1", "25"},
		Parts: []Part{{Name: "in send", At: send}, {Name: "in receive", At: receive}},
	}
}

func TestBarsIsWellFormed(t *testing.T) {
	full := map[int]Value{0: {Mid: 90, Lo: 80, Hi: 95, Tip: "<90>", Firm: true}, 1: exact(40), 2: exact(0.01)}
	for name, chart := range map[string]Bars{
		"full":     bars(full, full),
		"partial":  bars(full, map[int]Value{1: exact(10)}),
		"zeros":    bars(map[int]Value{0: exact(0)}, map[int]Value{0: exact(0)}),
		"no parts": {Title: "t", X: []string{"0"}},
		"no bars":  {Title: "t", Parts: []Part{{Name: "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			svg := chart.SVG()
			wellFormed(t, svg)
			for _, wrong := range []string{"NaN", "Inf", "%!", `height="-`} {
				if strings.Contains(svg, wrong) {
					t.Errorf("the drawing holds %q:\n%s", wrong, svg)
				}
			}
		})
	}
}

// Parts are stacked on a scale from zero, however different they are: a part of
// twice the size is twice as long.
func TestBarsStack(t *testing.T) {
	svg := bars(map[int]Value{0: exact(100), 1: exact(10), 2: exact(10)}, map[int]Value{0: exact(200), 1: exact(20), 2: exact(20)}).SVG()
	const rect = `<rect x="[0-9.]+" y="([0-9.]+)" width="3[0-9.]+" height="([0-9.]+)" class="part`
	y := places(t, svg, rect)
	height := places(t, svg, strings.Replace(strings.Replace(rect, "(", "", 1), ")", "", 1))
	if len(y) != 6 {
		t.Fatalf("%d pieces, want 6:\n%s", len(y), svg)
	}
	near := func(a, b float64) bool { return a-b < 0.6 && b-a < 0.6 } // pixels
	if !near(y[0]+height[0], barsBottom) || !near(y[1]+height[1], y[0]) {
		t.Errorf("pieces at %v, of heights %v, do not stand on each other", y, height)
	}
	if !near(height[1], 2*height[0]) || !near(height[0], 10*height[2]) {
		t.Errorf("heights %v of 100, 200, 10, 20, 10 and 20", height)
	}
	if !near(y[2]+height[2], barsBottom) {
		t.Errorf("the bar of small figures does not begin at zero: %v", y[2]+height[2])
	}
}

// The interval of a part is around its upper end.
func TestBarsIntervals(t *testing.T) {
	svg := bars(map[int]Value{0: exact(100)}, map[int]Value{0: {Mid: 100, Lo: 50, Hi: 200}}).SVG()
	low := places(t, svg, `y1="([0-9.]+)" x2="[0-9.]+" y2="[0-9.]+" class="whisker range over"`)
	high := places(t, svg, `y2="([0-9.]+)" class="whisker range over"`)
	top := places(t, svg, `y="([0-9.]+)" width="3[0-9.]+" height="[0-9.]+" class="part1"`)
	if len(low) != 1 || len(high) != 1 || len(top) != 1 || high[0] >= top[0] || low[0] <= top[0] {
		t.Errorf("interval from %v to %v about %v", low, high, top)
	}
	if high[0] < barsTop {
		t.Errorf("the interval, up to %v, leaves the chart", high[0])
	}
}

// A chart that covers the heights of another one has the same scale.
func TestBarsCover(t *testing.T) {
	tall := bars(map[int]Value{0: exact(500)}, map[int]Value{0: exact(700)})
	low := bars(map[int]Value{0: exact(5)}, map[int]Value{0: exact(7)})
	want := "1000<"
	if !strings.Contains(tall.SVG(), want) || strings.Contains(low.SVG(), want) {
		t.Fatalf("ticks of 1200 and of 12:\n%s\n%s", tall.SVG(), low.SVG())
	}
	low.Cover = tall.Heights()
	if !strings.Contains(low.SVG(), want) {
		t.Error("the heights to be covered do not change the scale")
	}
}

func TestBarsName(t *testing.T) {
	svg := bars(map[int]Value{0: {Mid: 1, Tip: "native: 1 ns"}}, nil).SVG()
	for _, want := range []string{"in send", "in receive", "capacity", "ns per value", "native &lt;10&gt;", "native: 1 ns"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
}
