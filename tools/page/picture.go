package page

import (
	"fmt"
	"image"
	"image/color"
)

// Pictures of charts are compared without text. The rest depends only on the
// report, so that a stored picture is valid on every machine; only the
// smoothing of edges depends on the version of the browser. So a pixel differs
// only if it differs strongly, and a tile differs only if many of its pixels
// do: smoothing changes few pixels slightly, a missing or moved mark changes
// many pixels strongly.
const (
	tile       = 20   // pixels, each side
	pixelApart = 60   // of 255, in one of the channels
	tileApart  = 0.03 // of a tile's pixels
)

// Compare reports each tile in which two pictures differ.
func Compare(want, got image.Image) (wrong []string) {
	if want.Bounds() != got.Bounds() {
		return []string{fmt.Sprintf("the picture is %v, not %v", got.Bounds().Size(), want.Bounds().Size())}
	}
	b := want.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += tile {
		for x := b.Min.X; x < b.Max.X; x += tile {
			area := image.Rect(x, y, x+tile, y+tile).Intersect(b)
			if share := differing(want, got, area); share > tileApart {
				wrong = append(wrong, fmt.Sprintf("%.0f %% of the pixels in %v differ", 100*share, area))
			}
		}
	}
	return wrong
}

// differing returns the share of pixels in an area that differ.
func differing(a, b image.Image, area image.Rectangle) float64 {
	n := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if apart(a.At(x, y), b.At(x, y)) {
				n++
			}
		}
	}
	return float64(n) / float64(area.Dx()*area.Dy())
}

func apart(a, b color.Color) bool {
	p, q := color.RGBAModel.Convert(a).(color.RGBA), color.RGBAModel.Convert(b).(color.RGBA)
	far := func(a, b uint8) bool { return max(a, b)-min(a, b) > pixelApart }
	return far(p.R, q.R) || far(p.G, q.G) || far(p.B, q.B)
}
