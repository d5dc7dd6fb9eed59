// How would the Rust spider (npm @spider-rs/spider-rs) do the same crawl?
//
// In:    the folder it is installed in, a file of seeds, a file of hosts (one name a line) and how: "together"
//        = one crawl from the first seed that may leave for every other host, the fastest; a number = one crawl
//        per host, so many at a time; whether to ask for robots.txt.
// Out:   the pages it says it fetched, as a number; the test web's own log tells the truth.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(process.argv[2] + "/");
const { Website } = require("@spider-rs/spider-rs");

const [, , , seedFile, hostFile, way = "together", robots = "free"] = process.argv;
const lines = (name) => readFileSync(name, "utf8").split("\n").filter(Boolean);
const seeds = lines(seedFile);
const hosts = lines(hostFile);

function site(url, external) {
  let website = new Website(url).withRespectRobotsTxt(robots === "robots").withDelay(0);
  if (external.length) website = website.withExternalDomains(external);
  return website.build();
}

async function together() {
  const website = site(seeds[0], hosts.map((host) => `http://${host}`));
  await website.crawl();
  return website.size;
}

async function apart(atOnce) {
  let pages = 0;
  const left = hosts.map((host) => `http://${host}/`);
  const one = async () => {
    for (let url = left.pop(); url; url = left.pop()) {
      const website = site(url, []);
      await website.crawl();
      pages += website.size;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return pages;
}

console.log(way === "together" ? await together() : await apart(Number(way)));
