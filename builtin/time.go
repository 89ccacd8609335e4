package builtin

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // where the machine knows no time zones, the program does

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

func clock() tool.Tool {
	type args struct {
		Zone string `json:"zone,omitempty" doc:"as Europe/Berlin, or a city"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "time",
		Aliases: []string{
			"time_now", "now", "get_time", "current_time", "get_current_time", "date", "get_date", "current_date", "datetime", "clock", "today",
			"get_current_date", "get_datetime", "date_time",
		},
		Group:   "pure",
		Summary: "Tell the date and time.",
		Use:     "For anything about now, today or a time zone.",
		Find:    "clock date today now day week time zone hour city",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Icon:    "think",
		Final:   true,
		Prefetch: func(sentence string) (args, bool) {
			zone, ok := timeAsked(sentence)
			return args{Zone: zone}, ok
		},
		Title: func(a args) string {
			if a.Zone != "" {
				return "Time in " + short(a.Zone, 40)
			}
			return "Time"
		},
		Run: func(_ context.Context, in tool.In, a args) (tool.Out, error) {
			zone := in.Zone
			if zone == nil {
				zone = time.UTC
			}
			if a.Zone != "" {
				z, ok := zoneOf(a.Zone)
				if !ok {
					return tool.Out{}, jackline.E("builtin.time", jackline.Unprocessed, nil,
						"%q is no time zone that is known here; name it as in Europe/Berlin, America/New_York or UTC+2.", short(a.Zone, 40))
				}
				zone = z
			}
			return tool.Out{Text: timeText(time.Now().In(zone))}, nil
		},
	})
}

func timeText(t time.Time) string {
	_, week := t.ISOWeek()
	return fmt.Sprintf("%s (%s, UTC%s), week %d", t.Format("Monday, 2 January 2006, 15:04:05"), t.Location(), t.Format("-07:00"), week)
}

// zoneOf finds a time zone by its name, a city in it, or its distance from UTC.
func zoneOf(name string) (*time.Location, bool) {
	name = strings.TrimSpace(name)
	switch strings.ToUpper(name) {
	case "UTC", "GMT", "Z", "ZULU":
		return time.UTC, true
	case "LOCAL", "":
		return nil, false
	}
	if m := regexp.MustCompile(`^(?i:utc|gmt)?\s*([+-])(\d{1,2})(?::?(\d{2}))?$`).FindStringSubmatch(name); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi("0" + m[3])
		if hours > 14 || minutes > 59 {
			return nil, false
		}
		seconds := (hours*60 + minutes) * 60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone(fmt.Sprintf("UTC%s%02d:%02d", m[1], hours, minutes), seconds), true
	}
	if strings.ContainsAny(name, "\\.\x00") || len(name) > 60 {
		return nil, false
	}
	city := strings.ReplaceAll(titled(name), " ", "_")
	for _, try := range [...]string{
		name, city, "Europe/" + city, "America/" + city, "Asia/" + city, "Africa/" + city, "Australia/" + city, "Pacific/" + city, "Atlantic/" + city,
		"Indian/" + city,
	} {
		if z, err := time.LoadLocation(try); err == nil && z != time.Local {
			return z, true
		}
	}
	return nil, false
}

// titled writes the words of a place with capitals, as the names of zones are.
func titled(s string) string {
	up := true
	return strings.Map(func(r rune) rune {
		at := up
		up = r == ' ' || r == '_' || r == '/' || r == '-'
		if at && r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if !at && r >= 'A' && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}
