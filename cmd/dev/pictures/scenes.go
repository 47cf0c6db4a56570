package main

import (
	"context"
)

// dark goes through the whole of the terminal UI.
func (s *studio) dark(ctx context.Context) error {
	return s.film(ctx, Dark, func(c *camera) {
		c.logIn()
		c.findAndRedeem()
		c.lookAtUser()
		c.editProperty()
		c.findCommands()
	})
}

// light is for people who have their terminals so: nothing is set, the terminal is asked.
func (s *studio) light(ctx context.Context) error {
	return s.film(ctx, Light, func(c *camera) {
		c.see("All valid perks", "row 1 of ")
		c.press("Down", "Down", "Space", "Down", "Space")
		c.see("2 marked")
		c.take("light")
	})
}

func (c *camera) logIn() {
	c.see("Address of the API")
	c.write(c.studio.address + "/v2")
	c.press("Tab")
	c.write(c.studio.id)
	c.press("Tab", "Tab")
	c.write(c.studio.secret)
	c.see("***")
	c.take("login")
	c.press("Enter")
	c.see("All valid perks", "Logged in.")
	c.see("row 1 of ")
	c.take("perks")
}

func (c *camera) findAndRedeem() {
	c.press("/")
	c.see("> Words")
	c.write("coffee")
	c.press("Tab")
	c.write("Berlin")
	c.see("Two coffees for one")
	c.gone("Helsinki")
	c.take("filter")
	c.press("Enter")
	c.see("Filter: ")
	c.press("Enter")
	c.see("Bring a friend")
	c.take("perk")
	c.press("r")
	c.see("> User")
	c.write("alice")
	c.press("C-s")
	c.see("Redeem for alice?")
	c.take("confirm")
	c.press("y")
	c.see("Redeemed. Status approved")
	c.take("redeemed")
}

func (c *camera) lookAtUser() {
	c.beside("perksctl", "perk", "redeem", "spa-day", "--user", "alice", "--metadata", "till=7")
	c.press("u")
	c.see("User alice", "pending")
	c.take("user-redeemed")
	c.press("Tab")
	c.see("1 to 50 of ")
	c.take("user")
}

func (c *camera) editProperty() {
	c.press("3")
	c.see("Open a property")
	c.write("1")
	c.press("Enter")
	c.see("Property 1: Sunny loft", "395.00")
	c.press("e")
	c.see("> Title")
	c.press("BTab", "BTab", "BTab", "BTab", "BTab", "BTab")
	c.see("> Price per week")
	c.press("C-u")
	c.write("410,50")
	c.press("Tab", "BTab")
	c.see("! ")
	c.take("edit")
	c.press("C-u")
	c.write("410.50")
	c.press("C-s")
	c.see("- 395.00", "+ 410.50")
	c.take("diff")
	c.beside("perksctl", "property", "update", "1", "--set", "price_pw=450.00", "--set", "title=Sunny loft by the river")
	c.press("C-s")
	c.see("1 to decide")
	c.take("merge")
	c.press("m")
	c.see("All decided")
	c.press("C-s")
	c.see("Saved property 1")
	c.press("C-x")
	c.see("Delete property 1?")
	c.take("delete")
	c.press("Escape")
	c.gone("Delete property 1?")
}

func (c *camera) findCommands() {
	c.press("1", "F")
	c.see("All valid perks")
	c.press("?")
	c.see("Keys")
	c.take("help")
	c.press("Escape")
	c.see("? keys")
	c.press("C-k")
	c.see("Find: ")
	c.write("page")
	c.see("> Next page")
	c.take("palette")
}
