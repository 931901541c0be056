import { topic } from 'nestjs-delay-queue';

export interface ReportRequest {
  readonly reportId: string;
  readonly title: string;
}

/** Reports to be built: the API can publish nothing else on it, and the worker can ask for nothing else. */
export const reportRequested = topic<ReportRequest>('report.requested');
