"""The two dashboards: the story of one arm, and arms side by side."""

from panels import (
    PHASES, STATES, Board, annotation, dashboard, link, query, variable,
)

MAIN, ARMS = "rig-metastability", "rig-arms"
SERVER = 'job="rig-server",arm="$arm"'
CLIENT = 'job="rig-client",arm="$arm"'


def faults(arm):
    return annotation(
        "Fault window", "red", f"max by (arm, fault) (rig_fault_active{{{arm}}})",
        "Fault: {{fault}}", "in force at {{arm}}", "fault,arm",
    )


def levers():
    # A counter's step, drawn for three seconds: one missed scrape does not hide it.
    return annotation(
        "Levers", "blue", "sum by (lever) (increase(rig_levers_pulled_total[3s])) > 0",
        "Lever: {{lever}}", "pulled", "lever",
    )


def alerts(arm):
    # Alerts without an arm are about the stack.
    expr = f'max by (alertname, severity) (ALERTS{{alertstate="firing",alertname=~"Rig.*",{arm}}})'
    return annotation("Alerts", "orange", expr, "{{alertname}}", "{{severity}}", "alertname")


def main():
    board = Board()
    tiles(board)
    picture(board)
    mechanism(board)
    users(board)
    retries(board)
    measurement(board)
    variables = [
        variable("arm", "Arm", "label_values(rig:state, arm)", "undefended", many=False),
        variable("layer", "Layer", 'label_values(rig_client_attempts_total{arm="$arm"}, layer)', None, many=True),
    ]
    return dashboard(
        MAIN, "Metastability: goodput and throughput",
        "One arm, top to bottom: what state it is in, the one picture, why, and whether to trust it.",
        board, variables, [faults('arm="$arm"'), levers(), alerts('arm=~"$arm|"')],
        [link("Arms side by side", ARMS)],
    )


def tiles(board):
    board.stat(
        "State", """stable: no trigger sticks. Vulnerable: it works, and a trigger can stick; lower amplification
        or load. Degraded: users lose while a fault is active or a backlog drains; wait and watch.
        METASTABLE: the fault is over and more arrives than can be served; pull a lever, waiting does not help.""",
        (6, 4), 'rig:state{arm="$arm"}', names=STATES,
    )
    figures = [
        ("Goodput", "Requests a second that reached their user in time. This is what you are paid for; compare it with Throughput.",
         "rig:goodput:rate10s", "reqps", None, 1),
        ("Throughput", "Requests a second that the server finished. At capacity while goodput is near zero is the signature.",
         "rig:throughput:rate10s", "reqps", None, 1),
        ("Attempts/request", "How often the server sees each request. 1 is no amplification; above 1.2 after the fault, retries sustain the overload.",
         "rig:attempts_per_request:ratio_rate10s", "none", [(None, "green"), (1.2, "orange"), (2, "red")], 2),
        ("Utilisation", "Share of slot time in use. High in overload and in metastability alike: read it with Wasted work.",
         "rig:utilisation:ratio_rate10s", "percentunit", [(None, "green"), (0.85, "orange"), (0.98, "red")], 0),
        ("Wasted work", "Share of busy slot time spent for callers who had gone. Above half, drop expired work or shed the queue.",
         "rig:wasted_work:ratio_rate10s", "percentunit", [(None, "green"), (0.1, "orange"), (0.5, "red")], 0),
        ("Delay ÷ time-out", "Median queue delay over the smallest time-out. At 1 and above what is served is dead already.",
         "rig:queue_delay_per_timeout:ratio", "none", [(None, "green"), (0.5, "orange"), (1, "red")], 2),
    ]
    for title, text, series, unit, limits, decimals in figures:
        board.stat(title, text, (3, 4), f'{series}{{arm="$arm"}}', unit=unit, limits=limits, decimals=decimals)


def picture(board):
    board.row()
    board.lines(
        "Offered load, throughput and goodput", """The one picture. Healthy: all three lie on each other. During a fault
        (red) all but offered fall. Metastable: the red is over, throughput is back at capacity, goodput stays
        down. Offered above the yellow line means that a trigger can stick.""",
        (24, 10), "reqps",
        [
            query('rig:offered_requests:rate10s{arm="$arm"}', "offered"),
            query('rig:throughput:rate10s{arm="$arm"}', "throughput"),
            query('rig:goodput:rate10s{arm="$arm"}', "goodput"),
            query('rig:capacity_requests:rate{arm="$arm"}', "capacity"),
            query('rig:hidden_capacity_requests:rate{arm="$arm"}', "safe capacity C/k"),
        ],
    )
    board.states(
        "State and phase", """The State tile over time, above where the server stands against its faults. Red above
        `after the fault` is metastable: note when it began and which lever (blue marks) ended it.""",
        (24, 5), [query('rig:state{arm="$arm"}', "state"), query('rig:phase:max{arm="$arm"}', "phase")], STATES, other={"phase": PHASES},
    )


def mechanism(board):
    board.lines(
        "Attempts per call, by layer", """What each retry layer adds; layers multiply to `all layers`. Above 1 after the
        fault is what sustains the failure. Begin with the layer that adds most: `goodput lever budget`.
        `limit` is what limits and budgets allow in the long run.""",
        (12, 8), "none",
        [
            query('rig:attempts_per_request:ratio_rate10s{arm="$arm"}', "all layers"),
            query('layer:attempts_per_call:ratio_rate10s{arm="$arm",layer=~"$layer"}', "{{tier}} {{layer}}"),
            query('rig:amplification_limit:ratio{arm="$arm"}', "limit"),
        ],
    )
    board.lines(
        "Utilisation and wasted work", """Busy and useful is a healthy peak; busy and wasted is metastability. `admitted`
        below 100 % is somebody blocking traffic on purpose.""",
        (12, 8), "percentunit",
        [
            query('rig:utilisation:ratio_rate10s{arm="$arm"}', "utilisation"),
            query('rig:wasted_work:ratio_rate10s{arm="$arm"}', "wasted work"),
            query(f"min(rig_server_admitted_ratio{{{SERVER}}})", "admitted"),
        ],
        max=1.05,
    )
    board.heatmap(
        "Queue delay of what was admitted", """Each column is a second, brighter means more attempts. A band that climbs above
        the smallest time-out and stays there is a queue full of dead work: `goodput lever shed-queue`.""",
        (12, 9),
        f"""sum by (le) (rate(rig_server_queue_delay_seconds_bucket{{{SERVER},admitted="true"}}[$__rate_interval]))""",
    )
    board.lines(
        "Queue delay against the smallest time-out", """Above the dashed red line whoever is dequeued has given up. `oldest`
        moves also when nothing is dequeued; `service` is the time in a slot, which a slow database stretches.""",
        (12, 9), "s",
        [
            query('rig:queue_delay_seconds:p50_rate10s{arm="$arm"}', "p50"),
            query('rig:queue_delay_seconds:p99_rate10s{arm="$arm"}', "p99"),
            query('rig:queue_oldest_age_seconds:max{arm="$arm"}', "oldest"),
            query('rig:attempt_timeout_seconds:min{arm="$arm"}', "smallest time-out"),
            query(
                f"""sum(rate(rig_server_service_duration_seconds_sum{{{SERVER}}}[$__rate_interval]))
                / (sum(rate(rig_server_service_duration_seconds_count{{{SERVER}}}[$__rate_interval])) > 0)""",
                "service",
            ),
        ],
        log=True,
    )
    board.lines(
        "Queue, in flight, slots", """The queue is the memory that keeps the bad state alive: it falls only while less
        arrives than is served. In flight at `slots` means that the server is busy. A queue at its bound refuses.""",
        (12, 8), "short",
        [
            query(f"sum(rig_server_requests_queued{{{SERVER}}})", "queued"),
            query(f"sum(rig_server_requests_in_flight{{{SERVER}}})", "in flight"),
            query(f"sum(rig_server_capacity_slots{{{SERVER}}})", "slots"),
            query(f"sum(rig_server_queue_capacity_requests{{{SERVER}}} < Inf)", "bound"),
            query(f"sum(rig_client_requests_in_flight{{{CLIENT}}})", "requests of users"),
        ],
    )
    board.lines(
        "What arrives at the server", """Arrivals above what is served cannot drain. Refusals by reason: `queue-full` is a
        bound at work, `shed` and `not-admitted` are levers, `expired` is drop-expired saving slot time.""",
        (12, 8), "reqps",
        [
            query('rig:arrivals:rate10s{arm="$arm"}', "arrivals"),
            query(f"sum(rate(rig_server_retries_received_total{{{SERVER}}}[$__rate_interval]))", "of these retries"),
            query(f"""sum by (outcome) (rate(rig_server_requests_total{{{SERVER}}}[$__rate_interval]))""", "{{outcome}}"),
            query(f"""sum by (reason) (rate(rig_server_requests_shed_total{{{SERVER}}}[$__rate_interval])) > 0""", "refused: {{reason}}"),
            query(f"""sum(rate(rig_fault_injections_total{{{SERVER}}}[$__rate_interval]))""", "touched by a fault"),
        ],
    )


def users(board):
    board.lines(
        "Requests by outcome", """What users saw. Green is goodput; red gave up waiting; orange was refused, which is cheap
        and quick to recover; grey met the generator's own caps and says nothing about the server.""",
        (12, 8), "reqps",
        [query(f"sum by (outcome) (rate(rig_client_requests_total{{{CLIENT}}}[$__rate_interval]))", "{{outcome}}")],
        stacked=True,
    )
    quantile = f"sum by (le) (rate(rig_client_{{name}}_bucket{{{{{CLIENT}}}}}[$__rate_interval]))"
    duration, attempts = quantile.format(name="request_duration_seconds"), quantile.format(name="request_attempts")
    board.lines(
        "How long users wait", """From the intended send time to the final outcome, whatever it was. A p50 at several
        time-outs means that users wait through all their retries.""",
        (6, 8), "s",
        [
            query(f"histogram_quantile(0.5, {duration}) >= 0", "p50"),
            query(f"histogram_quantile(0.99, {duration}) >= 0", "p99"),
            query('rig:attempt_timeout_seconds:min{arm="$arm"}', "smallest time-out"),
        ],
        log=True,
    )
    board.lines(
        "Attempts that one request made", """Counted by the client when a request ends. The p50 at the limit means that
        hardly anybody succeeds before all retries are used up.""",
        (6, 8), "none",
        [
            query(f"histogram_quantile(0.5, {attempts}) >= 0", "p50"),
            query(f"histogram_quantile(0.99, {attempts}) >= 0", "p99"),
            query('max(rig_client_max_attempts_per_request{job="rig-client",arm="$arm"})', "limit"),
        ],
    )


def retries(board):
    board.lines(
        "Retries suppressed, by reason", """Retries that did not go out. `budget` rising after the fault is a budget doing its
        work; `exhausted` alone means that nothing but the limit stops them.""",
        (8, 8), "reqps",
        [query(
            """sum by (reason) (rate(rig_client_retries_suppressed_total{arm="$arm",layer=~"$layer"}[$__rate_interval]))""",
            "{{reason}}",
        )],
    )
    board.lines(
        "Share of retries, and budgets", """Share of attempts that are retries, and the retries that budgets would still
        allow (right). Empty on the right means that no layer has a budget.""",
        (8, 8), "percentunit",
        [
            query('rig:retries_per_attempts:ratio_rate10s{arm="$arm"}', "retries"),
            query('sum by (tier, layer) (rig_client_retry_budget_tokens{arm="$arm",layer=~"$layer"} < Inf)', "budget of {{tier}} {{layer}}"),
        ],
    )
    board.panels[-1]["fieldConfig"]["overrides"].append({
        "matcher": {"id": "byRegexp", "options": "/^budget/"},
        "properties": [
            {"id": "unit", "value": "short"},
            {"id": "custom.axisPlacement", "value": "right"},
        ],
    })
    board.lines(
        "How attempts end", """Tries of the layers, by result. `timeout` is work that the server may still do for nobody;
        `overloaded` and `expired` were refused early, which costs it little.""",
        (8, 8), "reqps",
        [query(
            """sum by (outcome) (rate(rig_client_attempts_finished_total{arm="$arm",layer=~"$layer"}[$__rate_interval]))""",
            "{{outcome}}",
        )],
        stacked=True,
    )


def measurement(board):
    board.lines(
        "Is the generator late", """Send lag p99 against 10 % of the smallest time-out. Above the line the run measures the
        generator: trust nothing here, and give it CPU.""",
        (6, 7), "s",
        [
            query('rig:send_lag_seconds:p99_rate10s{arm="$arm"}', "send lag p99"),
            query('0.1 * rig:attempt_timeout_seconds:min{arm="$arm"}', "limit"),
        ],
        log=True,
    )
    board.lines(
        "Connections", """Open ones, and new ones a second: each time-out over HTTP/1.1 costs a connection, so this
        follows amplification. `given up` above 0 met the generator's own caps.""",
        (6, 7), "short",
        [
            query(f"sum(rig_client_connections_open{{{CLIENT}}})", "open"),
            query(f"sum(rate(rig_client_connects_total{{{CLIENT}}}[$__rate_interval]))", "new a second"),
            query(f"""sum(rate(rig_client_requests_total{{{CLIENT},outcome="given_up"}}[$__rate_interval]))""", "given up a second"),
        ],
    )
    board.lines(
        "Scrapes and rules", """How long Prometheus takes to scrape each target and to evaluate the rules. Above one second
        figures are missing; a target that is gone has a gap.""",
        (6, 7), "s",
        [
            query('max by (job) (scrape_duration_seconds{job=~"rig-.+",arm=~"$arm|"} and on (instance) up == 1)', "{{job}}"),
            query("max(prometheus_rule_group_last_duration_seconds)", "rules"),
        ],
    )
    board.lines(
        "CPU and memory of the processes", """CPU as a share of a core over 30 s (it is counted in whole seconds), memory on
        the right. A generator near one core is late; a server whose memory climbs has an unbounded queue.""",
        (6, 7), "percentunit",
        [
            query("""sum by (job) (rate(process_cpu_seconds_total{job=~"rig-.+",arm="$arm"}[30s]))""", "CPU {{job}}"),
            query("""sum by (job) (process_resident_memory_bytes{job=~"rig-.+",arm="$arm"})""", "memory {{job}}"),
        ],
    )
    board.panels[-1]["fieldConfig"]["overrides"].append({
        "matcher": {"id": "byRegexp", "options": "/^memory/"},
        "properties": [
            {"id": "unit", "value": "bytes"},
            {"id": "custom.axisPlacement", "value": "right"},
        ],
    })
    firing = [("pending", "yellow"), ("firing", "red")]
    board.states(
        "Alerts", """Which alerts fire, and since when against the fault and the levers. RigMetastable is the page; the
        list beside has each alert's runbook.""",
        (12, 8),
        [query("""max by (alertname) (ALERTS{alertstate="firing",alertname=~"Rig.*",arm=~"$arm|"})""", "{{alertname}}")],
        firing, no_value="no alert has fired",
    )
    board.add(
        "alertlist", "Firing alerts", """What is firing or pending now. Open one: its annotation `runbook` says which lever to
        pull and in what order.""",
        (6, 8), [],
        options={
            "viewMode": "list",
            "groupMode": "default",
            "groupBy": [],
            "maxItems": 20,
            "sortOrder": 3,
            "dashboardAlerts": False,
            "alertName": "Rig",
            "alertInstanceLabelFilter": "",
            "datasource": "Prometheus",
            "stateFilter": {"firing": True, "pending": True, "noData": False, "normal": False, "error": True},
        },
    )
    board.lines(
        "Fault injector", """Faults that it holds, by tier, and faults that it could not confirm to have ended: above 0, clear
        them by hand. `lost` ended before their time, `failed` never began.""",
        (6, 8), "short",
        [
            query("sum by (tier) (rig_injector_faults_held)", "held at {{tier}}"),
            query("sum(rig_injector_faults_unconfirmed)", "unconfirmed"),
            query("sum(rig_injector_faults_injected_total)", "ended"),
            query("sum(rig_injector_faults_lost_total)", "lost"),
            query("sum(rig_injector_faults_failed_total)", "failed"),
        ],
    )
    board.table(
        "What runs", """Scenario, seed and target of the load, and what was built. Quote the run's name, which ends in its
        start in Unix seconds, when you report a figure.""",
        (24, 4),
        [
            query(f"""max by (arm, run_id, scenario, seed, target) (rig_run_info{{{CLIENT}}})
                * on (arm) group_left () max by (arm) (rig_run_start_timestamp_seconds{{{CLIENT}}}) * 1000""", "", True, "table"),
            query(f"""max by (arm, version, revision, rustc) (rig_build_info{{{CLIENT}}})""", "", True, "table"),
        ],
        [
            {"id": "joinByField", "options": {"byField": "arm", "mode": "outer"}},
            {"id": "organize", "options": {
                "excludeByName": {"Time": True, "Time 1": True, "Time 2": True, "Value #B": True},
                "renameByName": {"Value #A": "began"},
            }},
        ],
        [{
            "matcher": {"id": "byName", "options": "began"},
            "properties": [{"id": "unit", "value": "dateTimeAsIso"}],
        }],
    )


def arms():
    board = Board()
    board.states(
        "State of each arm", """One bar for each arm, on one time axis with their faults (red). The same fault turns one arm
        METASTABLE and leaves another as it was: that is what its defence is worth.""",
        (24, 6), [query('rig:state{arm=~"$arm"}', "{{arm}}")], STATES,
    )
    columns = [
        ("State", "rig:state"),
        ("Offered", "rig:offered_requests:rate10s"),
        ("Goodput", "rig:goodput:rate10s"),
        ("Throughput", "rig:throughput:rate10s"),
        ("Attempts per request", "rig:attempts_per_request:ratio_rate10s"),
        ("Utilisation", "rig:utilisation:ratio_rate10s"),
        ("Wasted work", "rig:wasted_work:ratio_rate10s"),
        ("Queue delay ÷ time-out", "rig:queue_delay_per_timeout:ratio"),
        ("Safe capacity C/k", "rig:hidden_capacity_requests:rate"),
    ]
    rename = {f"Value #{chr(ord('A') + index)}": name for index, (name, _) in enumerate(columns)}
    times = {"Time": True, **{f"Time {index + 1}": True for index in range(len(columns))}}
    units = {"Offered": "reqps", "Goodput": "reqps", "Throughput": "reqps", "Safe capacity C/k": "reqps",
             "Utilisation": "percentunit", "Wasted work": "percentunit"}
    state = next(panel for panel in board.panels)["fieldConfig"]["defaults"]["mappings"]
    board.table(
        "Arms now", """The figures of each arm at the end of the time range. Read along a line: offered against goodput says
        what users get, attempts and wasted work say why.""",
        (24, 6),
        [query(f'max by (arm) ({series}{{arm=~"$arm"}})', "", True, "table") for _, series in columns],
        [
            {"id": "joinByField", "options": {"byField": "arm", "mode": "outer"}},
            {"id": "organize", "options": {"excludeByName": times, "renameByName": rename}},
        ],
        [
            {"matcher": {"id": "byName", "options": "State"}, "properties": [{"id": "mappings", "value": state}]},
            *({"matcher": {"id": "byName", "options": name},
               "properties": [{"id": "unit", "value": unit}, {"id": "decimals", "value": 1}]}
              for name, unit in units.items()),
        ],
    )
    pairs = [
        ("Goodput", "What users get in each arm under the same arrivals. The arm whose line comes back after the red is the one to build.",
         "rig:goodput:rate10s", "reqps"),
        ("Goodput ÷ offered", "The same as a share of what was asked for, so that arms with different load compare. Below 90 % users lose.",
         "rig:goodput_per_offered:ratio_rate10s", "percentunit"),
        ("Throughput", "What each server finishes. Equal throughput with unequal goodput is work for nobody in the lower arm.",
         "rig:throughput:rate10s", "reqps"),
        ("Attempts per request", "Amplification of each arm. A defence of the client shows here; one of the server does not have to.",
         "rig:attempts_per_request:ratio_rate10s", "none"),
        ("Wasted work", "Share of slot time for callers who had gone. A defence of the server (drop expired, short queue) shows here.",
         "rig:wasted_work:ratio_rate10s", "percentunit"),
        ("Queue delay ÷ time-out", "Median queue delay over the smallest time-out of each arm. At 1 and above what is served is dead already.",
         "rig:queue_delay_per_timeout:ratio", "none"),
    ]
    for title, text, series, unit in pairs:
        board.lines(title, text, (12, 8), unit, [query(f'{series}{{arm=~"$arm"}}', "{{arm}}")])
    board.row()
    board.lines(
        "$arm", """The one picture of each arm side by side: offered, throughput and goodput. Where throughput is at capacity
        and goodput is not, pull a lever on that arm.""",
        (8, 9), "reqps",
        [
            query('rig:offered_requests:rate10s{arm=~"$arm"}', "offered"),
            query('rig:throughput:rate10s{arm=~"$arm"}', "throughput"),
            query('rig:goodput:rate10s{arm=~"$arm"}', "goodput"),
        ],
        repeat="arm", repeatDirection="h", maxPerRow=3,
    )
    variables = [variable("arm", "Arm", "label_values(rig:state, arm)", None, many=True)]
    return dashboard(
        ARMS, "Arms side by side", "Two or more arms under the same load and the same faults.",
        board, variables, [faults('arm=~"$arm"'), levers(), alerts('arm=~"$arm|"')],
        [link("One arm in detail", MAIN)],
    )
