package parse

import (
	"bytes"
	"time"
	"unicode"
	"unicode/utf8"
)

// The time of the combined format, "21/Nov/2026:15:04:05 +0000", and the same
// without its seconds.
const (
	timeLayout  = "02/Jan/2006:15:04:05 -0700"
	timeBytes   = len(timeLayout)
	minuteBytes = len("02/Jan/2006:15:04")
	zoneBytes   = len(" -0700")
	stampBytes  = minuteBytes + zoneBytes
)

// combinedMinute returns the minute of text, which has timeBytes bytes.
// Successive lines of a stream almost always share their minute: then it parses
// only the seconds.
func (p *Parser) combinedMinute(text []byte) (Minute, bool) {
	seconds, zone := text[minuteBytes:timeBytes-zoneBytes], text[timeBytes-zoneBytes:]
	if bytes.Equal(text[:minuteBytes], p.stamp[:minuteBytes]) && bytes.Equal(zone, p.stamp[minuteBytes:]) {
		return p.minute, isSeconds(seconds)
	}
	t, err := time.Parse(timeLayout, string(text))
	if err != nil {
		return 0, false
	}
	minute, ok := MinuteOf(t)
	if !ok {
		return 0, false
	}
	copy(p.stamp[:], text[:minuteBytes])
	copy(p.stamp[minuteBytes:], zone)
	p.minute = minute
	return minute, true
}

// isSeconds reports whether text is a colon and two digits below 60, as
// time.Parse requires.
func isSeconds(text []byte) bool {
	return text[0] == ':' && text[1] >= '0' && text[1] <= '5' && text[2] >= '0' && text[2] <= '9'
}

// isText reports whether name is UTF-8 without control characters.
func isText(name []byte) bool {
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
			return false
		}
		name = name[size:]
	}
	return true
}
