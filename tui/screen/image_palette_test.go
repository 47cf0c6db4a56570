package screen

import (
	"image/color"
	"testing"
)

func TestNearest256(t *testing.T) {
	table := map[int][3]int{}
	for i := range 216 {
		table[16+i] = [3]int{levels[i/36], levels[i/6%6], levels[i%6]}
	}
	for i := range 24 {
		table[232+i] = [3]int{8 + 10*i, 8 + 10*i, 8 + 10*i}
	}
	to := func(c color.RGBA, index int) int {
		return distance(int(c.R), int(c.G), int(c.B), table[index][0], table[index][1], table[index][2])
	}
	for i := range 16 * 16 * 16 {
		c := color.RGBA{uint8(i / 256 * 17), uint8(i / 16 % 16 * 17), uint8(i % 16 * 17), 255}
		got := nearest256(c)
		for index := range table {
			if to(c, index) < to(c, got) {
				t.Fatalf("%v is drawn as %d %v, but %d %v is nearer", c, got, table[got], index, table[index])
			}
		}
	}
}
