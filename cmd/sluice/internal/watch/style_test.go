package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3/color"
	"github.com/gdamore/tcell/v3/vt"
)

// answerBusy answers with the busy service, or its third channel.
func answerBusy(w http.ResponseWriter, r *http.Request) {
	report := busy()
	if r.URL.Query().Has("channel") {
		report = only(report, 3)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report)
}

// Colors, and none with NO_COLOR. A name cannot clear the screen.
func TestColours(t *testing.T) {
	for _, noColour := range []string{"", "1"} {
		t.Run("NO_COLOR="+noColour, func(t *testing.T) {
			t.Setenv("NO_COLOR", noColour)
			s, _ := serve(t, http.HandlerFunc(answerBusy))
			m, _, ended := begin(t, t.Context(), s)
			m.shows("hand-off")
			m.KeyTap(vt.KeyEnter)
			m.shows("slots       ███")
			m.KeyTap(vt.KeyQ)
			<-ended
			m.mu.Lock()
			defer m.mu.Unlock()
			text := m.written.String()
			for _, colour := range []int{63, 131} {
				if coloured := strings.Contains(text, fmt.Sprintf("38;5;%d", colour)) || strings.Contains(text, fmt.Sprintf("38:5:%d", colour)); coloured == (noColour != "") {
					t.Errorf("colour %d: %v", colour, coloured)
				}
			}
			if strings.Contains(text, "]0;title") && !strings.Contains(text, `\x1b]0;title`) || strings.Contains(text, "\u202e") || strings.Contains(text, "\x1b]0;title") {
				t.Error("a name controls the terminal")
			}
		})
	}
}

// Output to a terminal without Unicode is ASCII, and keeps all figures.
func TestASCII(t *testing.T) {
	s, _ := serve(t, http.HandlerFunc(answerBusy))
	m, _, ended := beginIn(t, t.Context(), s, "C", often)
	m.shows("orders/parsed                11/16")
	m.KeyTap(vt.KeyEnter)
	m.shows("slots       ###")
	m.shows("oo waiting, for 3.3s 2.1ms")
	m.KeyTap(vt.KeyQ)
	<-ended
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.written.Bytes() {
		if b >= utf8.RuneSelf {
			t.Fatalf("byte %#x written to an ASCII terminal", b)
		}
	}
}

// The colors have enough contrast on white and on black.
func TestContrast(t *testing.T) {
	linear := func(v int32) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	for name, c := range map[string]color.Color{"values": colorOfValues, "outward": colorOutward, "hot": colorOfHot} {
		r, g, b := c.RGB()
		l := 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
		if white, black := 1.05/(l+0.05), (l+0.05)/0.05; white < 4.3 || black < 4.3 {
			t.Errorf("%s: contrast %.1f on white, %.1f on black", name, white, black)
		}
	}
}
