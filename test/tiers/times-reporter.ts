import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { slowFiles } from './slow-files.ts';
import { type FileTime, timesReport, withTierTable } from './times.ts';

/**
 * Prints the time of each tier and the slowest files at the end of a run. With `MESH_TEST_TIMES=write`, also writes
 * the table of the tiers into CONTRIBUTING.md.
 */
export class TimesReporter implements Reporter {
  #root = '';
  #beganAt = 0;

  onInit({ config }: Vitest): void {
    this.#root = config.root;
  }

  onTestRunStart(): void {
    this.#beganAt = performance.now();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module): FileTime => {
      const { duration, collectDuration, setupDuration, prepareDuration } = module.diagnostic();
      return {
        tier: module.project.name,
        file: relative(this.#root, module.moduleId),
        tests: [...module.children.allTests()].length,
        ms: duration + collectDuration + setupDuration + prepareDuration,
      };
    });
    const wallMs = performance.now() - this.#beganAt;
    console.log(timesReport(files, wallMs, slowFiles));
    if (process.env.MESH_TEST_TIMES !== 'write') return;
    const page = join(this.#root, 'CONTRIBUTING.md');
    writeFileSync(page, withTierTable(readFileSync(page, 'utf8'), files, wallMs));
  }
}
