r"""Small valid files of text, of which the damaged ones are made. Each has what its format allows and few files use."""

MEKA_DENSE = b"""\
@relation 'toy: -C 2'
@attribute a {0,1}
@attribute b {0,1}
@attribute x numeric
@attribute y real
@data
1,0,3.5,-1e-3
0,1,4,2.25
1,1,0,7
0,0,12345678901234567890,0.1
"""

REUTERS = b"""\
<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<TOPICS><D>corn</D><D>tea</D></TOPICS>
<UNKNOWN> &#5;&#22;C T</UNKNOWN>
<TEXT>&#2;
<TITLE>CORN &lt;CRN> UP</TITLE>
<DATELINE> OHIO, Feb 26 - </DATELINE><BODY>A&amp;B bought
caf\xe9s.
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="2" NEWID="2">
<TOPICS><D>corn</D><D>tea</D></TOPICS>
<TEXT TYPE="UNPROC">&#2;
no title
</TEXT>
</REUTERS>
"""

REUTERS_MORE = b"""\
<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" NEWID="3">
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="4">
<TOPICS></TOPICS>
<TEXT TYPE="BRIEF"><TITLE>brief</TITLE>Blah</TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="5">
<TOPICS><D>corn</D></TOPICS>
<TEXT><BODY></BODY></TEXT>
</REUTERS>
"""

MEKA_SPARSE = b"""\
@relation 'toy: -C -2'
@attribute x numeric
@attribute y numeric
@attribute a {0,1}
@attribute b {1,0}
@data
{0 3.5,2 1}
{}
{1 2,3 0}
{0 1e3, 1 -4, 2 1, 3 0}
"""

MEKA_NOMINAL = rb"""% a comment
@RELATION 'a \'toy\': -C 1'

@attribute 'calm, or not' {YES,NO}
@attribute colour {red, 'dark blue',"it's"}
@attribute f {1,0} % flag
@attribute 'x y' integer
@data
YES,red,1,3
NO,'dark blue',0,?

% gone
NO,"it's",1,2
?,?,?,4
"""

ARFF_CELLS = rb"""@relation 'log: -C 2'
@attribute a {0,1}
@attribute b {1 0}
@attribute when date "yyyy-MM-dd HH:mm:ss"
@attribute born date
@attribute note string
@attribute bag relational
@attribute 'in side' numeric
@end bag
@attribute x numeric
@attribute c {red,'?',"dark blue"}
@data
1,0,"2024-02-29 10:00:00",?,'it\'s, fine',"1\n2",3.5,red
0 1 ? 2024-01-02T03:04:05 word ? -1e3 'dark blue' {2}
1,1,2024-02-28 10:00:00,?,two words,?,?,'?',{0.5}
"""

ARFF_SPARSE_CELLS = rb"""@relation 'log: -C 1'
@attribute a {0,1}
@attribute note string
@attribute x numeric
@attribute c {red,blue}
@attribute when date 'd MMM yyyy'
@data
{0 1,1 'two words',4 '3 Feb 2024'}
{1 word 2 4 4 ?},{3}
{1 ?, 2 1,3 blue, 4 '31 Dec 1999'} {1} % c
"""

ARFF_BLANKS = b"""\
@relation 'toy: -C 2'
@attribute a {0,1}
@attribute b {0 1}
@attribute x numeric
@attribute y real
@data
1\t0\t3.5\t-1e-3
0 1 4 2.25 {2}
1, 1 0,7
  0 0 12345678901234567890 0.1
"""

MULAN_ARFF = b"""\
@relation w
@attribute 'n 1' numeric
@attribute cat {0,1}
@attribute "dog's" {false,true}
@data
1\t,0,true
2, 1 ,false
"""

MULAN_XML = b"""\
<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="cat"><label name="dog&apos;s"></label></label>
</labels>
"""

SVMLIGHT = b"""\
0,2 0:3.5 3:1e-3 # a cat
1 1:2
 2:7
2,1 0:1 1:2 2:3 3:4
"""

SVMLIGHT_DIMENSIONS = b"""\
3 5 4
0,3 0:1 4:2.5
1 1:1
 2:0.5
"""

SVMLIGHT_SCORES = b"""\
0:1,2:1.0 0:3.5 3:1e-3
1 1:2
2 , 1\t0:1 1:2
"""

FEATURES = b"""\
3 5
0:1 4:2.5

1:1
"""

LABELS = b"""\
3 4
0:1.00000 3:1

2:1
"""

SVMLIGHT_FROM_ONE = b"""\
1,2 1:3.5 qid:3 2:2

2 2:1
3 1:0 # empty
"""

CSV = b"""\
x,weight,l_cat,l_dog
1,3.5,1,0
2,-1e3,0,1
,NA,1,1
4,true,yes,No
"""

CSV_QUOTED = b"""\
"x","a ""b""\","l_a","l,b"
"1",2.5,"1",0
3,"-4",true,false
""".replace(b"\n", b"\r\n")

CSV_TAGS = b"""\
id,kg,h,tags
Tom,3.5,1,"cat;pet"
Rex,20,2,dog; pet
Ivy,1,3,
Zoe,2,4,"[""a"", ""b c""]"
"""

CSV_SEMICOLON = b"""\
id;kg;tags
Tom;3.5;cat
Rex;20;
"""

CSV_MIXED = b"""\
size,genre,about,born,l_a,l_b
1.5,rock,a song of love,2020-01-31,1,0
2,,,2021-02-01T12:00,0,1
,jazz,"long, ""text""\",,1,1
"""

CSV_EUROPEAN = b"""\
x;y;l_a;l_b
1,5;2;1;0
-3,25;1e3;0;1
;4;1;?
"""

CSV_OF_R = b"""\
"x" "y y" "l_a" "l_b"
"Mazda RX4" 1 0.5 TRUE FALSE
"2" NA -1e3 FALSE TRUE
"3" 2 "4" TRUE TRUE
"""

CSV_WITH_ROW_NAMES = b"""\
x,y,l_a
a,1,2,1
b,3,4,0
"""

TSV = b"""\
x\ty\tl_a\tl_b
1\t2\t1\t0
3\t4.5\t0\t1
"""

JSON_LINES = b"""\
{"x": 1, "y": 2.5, "l_a": 1, "l_b": 0}
{"y": -1e3, "x": null, "l_a": 0, "l_b": true}
{"x": 3, "l_a": 1, "l_b": 1}
"""

JSON_LISTS = b"""\
{"id": "a", "e": [1, 2.5, 3], "tags": ["cat", "pet"]}
{"id": "b", "e": [0, 0, 1], "tags": []}
{"id": "c", "e": [4, 5, 6], "tags": ["dog"]}
"""

JSON_ARRAY = b"""\
[{"x": 1, "y": 2.5, "l_a": 1, "l_b": 0},
 {"y": -1e3, "x": null, "l_a": 0, "l_b": true}
,{"x": 9007199254740992, "l_a": 1, "l_b": 1, "s": "], {\\""}
]
"""

JSON_PRETTY = b"""\
[
  {
    "x": 1,
    "l_a": 1
  },
  {
    "x": -0.5,
    "l_a": 0
  }
]
"""

JSON_TAGS = b"""\
{"x": 1, "t": "a; b"}
{"x": 2.5, "t": ""}
{"x": 3, "t": "b"}
"""

CORRECTIONS = b"""\
row,label,given,correct,remark
3,calm,0,1,
5,calm,1,,later
8,loud,1,?,"who, knows"
0,loud,0,yes,
"""

RESULTS_CSV = b"""\
dataset,seed,fold,method,n_neighbors,metric,value,greater_is_better
yeast,0,0,br,,f1,0.5,true
yeast,0,1,br,,f1,0.25,true
yeast,0,0,mlknn,10,f1,0.75,true
yeast,0,1,mlknn,10,f1,,true
"""

RESULTS_JSON = b"""\
{"dataset": "d", "seed": 1, "fold": 0, "method": "br", "n_neighbors": null, "metric": "micro_f1", "value": 0.25}
{"dataset": "d", "seed": 1, "fold": 1, "method": "br", "n_neighbors": 3, "metric": "micro_f1", "value": null}
"""

EXPORT_JSON = b"""\
[{"data": {"row": 0, "given": ["calm"]}, "annotations": [{"result": [{"type": "choices", "from_name": "tags",
 "value": {"choices": ["loud"]}}], "was_cancelled": false}]},
 {"data": {"row": 1, "given": []}, "annotations": []}]
"""

EXPORT_LINES = b"""\
{"row": 0, "text": "t", "label": ["calm", "loud"], "predicted": ["calm"]}
{"row": 1, "options": [{"id": "calm"}, {"id": "loud"}], "accept": ["loud"], "answer": "accept"}
{"row": 2, "annotation_id": 7, "tags": {"choices": ["calm"]}}
"""

EXPORT_CSV = b"""\
row,given,tags,annotation_id
0,"[""calm""]","{""choices"":[""calm"",""loud""]}",1
1,[],calm,2
2,[],,
"""

FASTTEXT = b"""\
__label__cat __label__pet a text of words
 no label

__label__dog, and another one __label__pet
"""

IDS = b"""\
a
b c

4711
"""

PAPER = b"""\
name = "mine"
title = "t"
reference = "r"
[data.pets]
file = "pets.csv"
labels = ["cat", "dog"]
[experiments.main]
datasets = ["pets"]
methods = ["brknn"]
n_neighbors = [1]
cv = 2
metrics = ["micro_f1"]
[tables.1]
title = "t"
experiments = ["main"]
printed = [["pets", "brknn", 1, "micro_f1", 0.5]]
[tables.A]
title = "s"
statistics = ["pets"]
printed = [["pets", "instances", 8]]
[rankings.1]
title = "t"
experiments = ["main"]
claims = { micro_f1 = "it is first" }
"""

PETS = b"weight,cat,dog\n" + b"3,1,0\n30,0,1\n" * 4

# Labels as other tools write them.

CELLS_OF_TAGS = (
    b"red; blue", b"red|blue", b'["red", "blue"]', b"['red', 'blue']", b"{'red', 'blue'}", b"('red',)", b"set()",
    b"frozenset({'red'})", b"['red' 'blue']", b"array(['red', 'blue'], dtype=object)",
    b"[np.str_('red'), np.str_('blue')]", b"[3 14]", b"[red, dark blue]", b"{red,blue}", b'{"dark red",blue}',
    b'c("red", "blue")', b"character(0)", b"List(red, blue)", b"deque(['red'], maxlen=3)", b"- red\n- blue",
    b"<red><blue>", b"__label__red __label__blue", b'"dark red",blue', b'{"red": true, "blue": false}',
    b"{'red': 1.0, 'blue': 0.0}", b'{"red": 0.7, "blue": 0.2}', b'{"choices": ["red", "blue"]}',
    b'[{"name": "red"}, {"name": "blue", "score": 1}]', b"[0 1 1]", b"[0. 1. 1.]", b"[ True False]", b"[0 1 ... 1 0]",
    b"[80s]", b"#red #blue",
)  # fmt: skip


def _table_of(*cells: bytes) -> bytes:
    return b"x,tags\n" + b"".join(b'%d,"%b"\n' % (row, cell.replace(b'"', b'""')) for row, cell in enumerate(cells))


NOTATIONS = (
    *(_table_of(cell, b"", cell) for cell in CELLS_OF_TAGS),
    _table_of(b"red|blue", b"red", b"blue", b"", b"red|green"),
    _table_of(b"[0 1 1]", b"[1 0 0]", b"[0 0 0]"),
    _table_of(b"0110", b"1001", b"0000"),
    _table_of(b"0,1,1", b"1,0,0"),
    _table_of(b"{red}", b"{blue}", b"{}", b"{red,blue}"),
)

STRUCTURES = (
    b'{"x": 1, "t": {"a": true, "b": false}}\n{"x": 2, "t": {"a": false, "b": null}}\n',
    b'{"x": 1, "t": {"a": 0.7}}\n{"x": 2, "t": {"a": 0.2, "b": 1}}\n',
    b'{"x": 1, "t": [{"name": "a", "score": 1}, {"name": "b"}]}\n{"x": 2, "t": []}\n',
    b'{"x": 1, "t": {"choices": ["a", "b"]}}\n{"x": 2, "t": {"choices": []}}\n',
    b'{"x": 1, "t": [0, 1, 1]}\n{"x": 2, "t": [1, 0, 0]}\n{"x": 3, "t": null}\n',
    b'{"x": 1, "t": [true, null]}\n{"x": 2, "t": [false, false]}\n',
    b'{"x": 1, "t": ["a", "b"], "answer": "accept"}\n{"x": 2, "t": [], "answer": "ignore"}\n',
    b'{"x": 1, "t": [3, 14]}\n{"x": 2, "t": [3]}\n',
    b'{"x": 1, "t": "[\'a\' \'b\']"}\n{"x": 2, "t": "a;b"}\n',
)

WIDE = b"""\
id,x,tag1,tag2
1,0.5,red,blue
2,1.5,,
3,0.5,blue,
"""

CODES = b"""\
x,l_a,l_b
1,ja,nein
2,nein,ja
3,,ja
"""

LONG = b"""\
id,x,tag,state
a,0.5,red,done
a,0.5,blue,done
b,1.5,red,todo
c,2,,done
"""

TAGS_BY_ID = b"""\
{"id": "a", "tags": ["red", "blue"]}
{"id": "b", "tags": []}
{"id": "a", "tags": ["green"]}
"""
