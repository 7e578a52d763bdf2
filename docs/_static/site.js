const SCROLLERS = ".table-wrapper, .highlight pre, pre.literal-block, dl dt.sig, article p:has(> img:only-child)";
// What scrolls sideways in its box can be reached and scrolled by keyboard.
function reachScrollers() {
  for (const box of document.querySelectorAll(SCROLLERS)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", reachScrollers);
addEventListener("resize", reachScrollers);
// The two sidebars have names of their own.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
