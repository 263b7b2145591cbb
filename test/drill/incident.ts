import type { Locator, Page } from 'playwright-core';
import type { Stage } from './stage.ts';

/** A place where an operator sees an incident. */
export type Sign =
  | {
      place: 'doctor';
      /** The line of `agentmesh doctor`. */
      line: RegExp;
    }
  | {
      place: 'alert';
      /** The name of the alert, and the labels that it must have. */
      alert: RegExp;
      labels?: Record<string, string>;
    }
  | {
      place: 'console';
      /** The view of the console, after `#/`. */
      view: string;
      /** The part of the page that shows the incident, and is gone without it. */
      shows: (page: Page) => Locator;
      /** Brings the page into the state of the screenshot. */
      before?: (page: Page) => Promise<void>;
    };

/** Something that goes wrong in a mesh, as a person would plant it. */
export interface Incident {
  /** The name of the screenshot. */
  name: string;
  title: string;
  /** Makes it happen. The returned function ends it, as the page about the drill says. */
  plant(stage: Stage): Promise<() => Promise<void>>;
  signs(stage: Stage): Sign[];
}
