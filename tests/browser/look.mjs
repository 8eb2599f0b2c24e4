// Opens pages in a browser without a window: pictures at three widths in light and dark, a PDF, and what axe finds.
// Usage: node look.mjs BROWSER OUT PAGE...; run from the folder that holds node_modules.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(join(process.cwd(), 'package.json'));
const puppeteer = require('puppeteer-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [browserPath, out, ...pages] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
let wrong = 0;

function say(...words) {
  wrong += 1;
  console.error(...words);
}

for (const path of pages) {
  const name = basename(path, '.html');
  const page = await browser.newPage();
  // axe is put into the page; without it the page allows no script.
  await page.setBypassCSP(true);
  page.on('request', request => {
    if (!request.isNavigationRequest()) say(name, 'asks for', request.url());
  });
  for (const width of [1200, 400, 320]) {
    for (const scheme of ['light', 'dark']) {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(pathToFileURL(path).href);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) say(name, width, 'scrolls sideways by', over, 'px');
      await page.screenshot({ path: join(out, `${name}-${width}-${scheme}.png`), fullPage: true });
      await page.evaluate(() => document.querySelectorAll('details').forEach(one => { one.open = true; }));
      await page.evaluate(axe);
      const { violations } = await page.evaluate(async () => await axe.run(document, { resultTypes: ['violations'] }));
      for (const { id, help, nodes } of violations) {
        say(name, width, scheme, id, help, `(${nodes.length})`, nodes[0].html.slice(0, 160));
      }
    }
  }
  await page.goto(pathToFileURL(path).href);
  await page.pdf({ path: join(out, `${name}.pdf`), preferCSSPageSize: true, printBackground: true });
  await page.close();
}
await browser.close();
console.log(`${pages.length} pages looked at, ${wrong} complaints`);
process.exit(wrong > 0 ? 1 : 0);
